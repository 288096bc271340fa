#include "rondo/runtime/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace rondo {
namespace {

constexpr size_t kPage = Arena::kPage;

// A request that takes n pages wherever in its first page it begins.
constexpr size_t pages(size_t n) { return n * kPage - kPage * 7 / 8; }
uintptr_t page_of(const void* block) {
  return reinterpret_cast<uintptr_t>(block) / kPage;
}

TEST(Arena, FreedNeighboursServeALargerBlock) {
  Arena arena;
  void* a = arena.allocate(pages(2));
  void* b = arena.allocate(pages(1));
  void* c = arena.allocate(pages(3));
  void* end = arena.allocate(pages(1));
  EXPECT_EQ(page_of(b), page_of(a) + 2);
  EXPECT_EQ(page_of(c), page_of(b) + 1);
  arena.free(a);
  arena.free(c);
  arena.free(b);
  EXPECT_EQ(page_of(arena.allocate(pages(6))), page_of(a));
  EXPECT_EQ(arena.touched(), 7 * kPage);
  arena.free(end);
}

TEST(Arena, TakesTheSmallestThatIsLongEnough) {
  Arena arena;
  void* large = arena.allocate(pages(4));
  void* between = arena.allocate(pages(1));
  void* small = arena.allocate(pages(2));
  void* end = arena.allocate(pages(1));
  arena.free(large);
  arena.free(small);
  EXPECT_EQ(page_of(arena.allocate(pages(2))), page_of(small));
  EXPECT_EQ(page_of(arena.allocate(pages(3))), page_of(large));
  EXPECT_EQ(page_of(arena.allocate(pages(1))), page_of(large) + 3);
  arena.free(between);
  arena.free(end);
}

TEST(Arena, BlocksBeginAtDifferentLinesOfThePage) {
  Arena arena;
  std::set<uintptr_t> places;
  for (int i = 0; i < 8; ++i)
    places.insert(reinterpret_cast<uintptr_t>(arena.allocate(1)) % kPage);
  EXPECT_EQ(places.size(), 8);
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
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0);
      data[0] = data[bytes - 1] = mark;
      blocks.push_back({data, bytes, mark});
      in_use += bytes;
    } else {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      ASSERT_EQ(block.data[0], block.mark);
      ASSERT_EQ(block.data[block.bytes - 1], block.mark);
      arena.free(block.data);
      in_use -= block.bytes;
    }
    ASSERT_GE(arena.in_use(), in_use);
    ASSERT_LE(arena.in_use(), in_use + 2 * kPage * blocks.size());
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
  EXPECT_EQ(page_of(arena.allocate(size_t{299} << 20)), page_of(huge));
  arena.free(another);
}

}  // namespace
}  // namespace rondo
