#include "rondo/runtime/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace rondo {
namespace {

constexpr size_t kPage = Arena::kPage;

TEST(Arena, FreedNeighboursServeALargerBlock) {
  Arena arena;
  char* a = static_cast<char*>(arena.allocate(2 * kPage));
  char* b = static_cast<char*>(arena.allocate(kPage));
  char* c = static_cast<char*>(arena.allocate(3 * kPage));
  void* end = arena.allocate(kPage);
  EXPECT_EQ(b, a + 2 * kPage);
  EXPECT_EQ(c, b + kPage);
  arena.free(a);
  arena.free(c);
  arena.free(b);
  EXPECT_EQ(arena.allocate(6 * kPage), a);
  EXPECT_EQ(arena.touched(), 7 * kPage);
  arena.free(end);
}

TEST(Arena, TakesTheSmallestThatIsLongEnough) {
  Arena arena;
  void* large = arena.allocate(4 * kPage);
  void* between = arena.allocate(kPage);
  void* small = arena.allocate(2 * kPage);
  void* end = arena.allocate(kPage);
  arena.free(large);
  arena.free(small);
  EXPECT_EQ(arena.allocate(kPage + 1), small);
  EXPECT_EQ(arena.allocate(3 * kPage), large);
  EXPECT_EQ(arena.allocate(1), static_cast<char*>(large) + 3 * kPage);
  arena.free(between);
  arena.free(end);
}

TEST(Arena, BlocksThatAreInUseNeverOverlap) {
  struct Block {
    unsigned char* data;
    size_t bytes;
    unsigned char mark;
  };
  Arena arena;
  std::mt19937 random(7);
  std::vector<Block> blocks;
  size_t in_use = 0;
  for (int i = 0; i < 4000; ++i) {
    if (blocks.size() < 40 || random() % 2) {
      const size_t bytes = 1 + random() % (64 * kPage);
      const auto mark = static_cast<unsigned char>(random());
      auto* data = static_cast<unsigned char*>(arena.allocate(bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kPage, 0);
      data[0] = data[bytes - 1] = mark;
      blocks.push_back({data, bytes, mark});
      in_use += (bytes + kPage - 1) / kPage * kPage;
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      ASSERT_EQ(block.data[0], block.mark);
      ASSERT_EQ(block.data[block.bytes - 1], block.mark);
      arena.free(block.data);
      in_use -= (block.bytes + kPage - 1) / kPage * kPage;
    }
    ASSERT_EQ(arena.in_use(), in_use);
  }
  EXPECT_GE(arena.most_in_use(), in_use);
  EXPECT_LE(arena.touched(), 2 * arena.most_in_use());
}

TEST(Arena, MoreThanARegionHolds) {
  Arena arena;
  void* huge = arena.allocate(size_t{300} << 20);
  void* another = arena.allocate(size_t{1} << 20);
  EXPECT_NE(huge, another);
  arena.free(huge);
  EXPECT_EQ(arena.allocate(size_t{299} << 20), huge);
  arena.free(another);
}

}  // namespace
}  // namespace rondo
