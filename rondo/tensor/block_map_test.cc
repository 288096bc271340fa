#include "rondo/tensor/block_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rondo {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(BlockMap, LargeBlocksArePagesAndSmallOnesGrains) {
  BlockMap map(4096, 64 * kMiB, 64 * kMiB);
  const auto small = map.allocate(1);
  const auto next = map.allocate(65);
  const auto after = map.allocate(0);
  EXPECT_EQ(*next - *small, 64u);
  EXPECT_EQ(*after - *next, 128u);
  EXPECT_EQ(*map.allocate(BlockMap::kLarge) % BlockMap::kPage, 0u);
  EXPECT_EQ(*map.allocate(3 * kMiB + 5) % BlockMap::kPage, 0u);
}

TEST(BlockMap, FreedBlocksAreUsedAgainAndMerged) {
  BlockMap map(0, 16 * kMiB, 16 * kMiB);
  const auto a = map.allocate(8 * kMiB);
  const auto b = map.allocate(8 * kMiB);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(map.allocate(kMiB), std::nullopt);
  EXPECT_TRUE(map.free(*a).known);
  EXPECT_TRUE(map.free(*b).known);
  EXPECT_EQ(map.allocate(16 * kMiB), 0u);
}

TEST(BlockMap, SlabsOfFreedSmallBlocksServeLargeOnes) {
  BlockMap map(0, 16 * kMiB, 16 * kMiB);
  std::vector<uint64_t> blocks;
  while (const auto block = map.allocate(1000)) blocks.push_back(*block);
  EXPECT_GE(blocks.size(), 16 * kMiB / 1024);
  EXPECT_EQ(map.allocate(kMiB), std::nullopt);
  for (const uint64_t block : blocks) EXPECT_TRUE(map.free(block).known);
  EXPECT_TRUE(map.allocate(12 * kMiB));
}

TEST(BlockMap, RefusesWhatIsTooLargeOrNotAllocated) {
  BlockMap map(0, 4 * kMiB, 4 * kMiB);
  EXPECT_EQ(map.allocate(4 * kMiB + 1), std::nullopt);
  EXPECT_EQ(map.allocate(UINT64_MAX), std::nullopt);
  const auto block = map.allocate(kMiB);
  EXPECT_FALSE(map.free(*block + 64).known);
  EXPECT_TRUE(map.free(*block).known);
  EXPECT_FALSE(map.free(*block).known);
}

TEST(BlockMap, FreeMemoryBeyondTheBoundGoesBack) {
  BlockMap map(0, 64 * kMiB, 3 * kMiB);
  const auto a = map.allocate(2 * kMiB);
  const auto b = map.allocate(2 * kMiB);
  EXPECT_EQ(map.free(*a).cold.size(), 0u);
  EXPECT_EQ(map.warm(), 2 * kMiB);
  const OffsetRange cold = map.free(*b).cold;
  EXPECT_EQ(cold, (OffsetRange{*b, *b + 2 * kMiB}));
  EXPECT_EQ(map.warm(), 2 * kMiB);
  // Not available until the pages are gone.
  EXPECT_EQ(map.allocate(64 * kMiB), std::nullopt);
  map.cooled(cold);
  EXPECT_EQ(map.allocate(64 * kMiB), 0u);
  EXPECT_EQ(map.warm(), 0u);
}

TEST(BlockMap, BlocksNeverOverlap) {
  std::mt19937 random(3);
  BlockMap map(4096, 256 * kMiB, 8 * kMiB);
  std::map<uint64_t, uint64_t> live;
  for (int turn = 0; turn < 20000; ++turn) {
    if (random() % 2 == 0 && !live.empty()) {
      auto it = live.lower_bound(random() % (256 * kMiB));
      if (it == live.end()) it = live.begin();
      const auto freed = map.free(it->first);
      ASSERT_TRUE(freed.known);
      if (freed.cold.size() > 0) map.cooled(freed.cold);
      live.erase(it);
      continue;
    }
    const uint64_t bytes = uint64_t{1} << (random() % 23);
    const uint64_t size = bytes - random() % bytes;
    const auto at = map.allocate(size);
    if (!at) continue;
    ASSERT_GE(*at, 4096u);
    ASSERT_LE(*at + size, 256 * kMiB);
    ASSERT_EQ(*at % (size >= BlockMap::kLarge ? 4096 : 64), 0u);
    const auto above = live.lower_bound(*at);
    const bool free_above = above == live.end() || *at + size <= above->first;
    ASSERT_TRUE(free_above);
    if (above != live.begin()) {
      const auto below = std::prev(above);
      ASSERT_LE(below->first + below->second, *at);
    }
    live.emplace(*at, size);
  }
}

}  // namespace
}  // namespace rondo
