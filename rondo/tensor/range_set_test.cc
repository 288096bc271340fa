#include "rondo/tensor/range_set.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rondo {
namespace {

TEST(RangeSet, NeighboursBecomeOneRange) {
  RangeSet set;
  EXPECT_EQ(set.add({10, 20}), (OffsetRange{10, 20}));
  EXPECT_EQ(set.add({30, 40}), (OffsetRange{30, 40}));
  EXPECT_EQ(set.add({20, 30}), (OffsetRange{10, 40}));
  EXPECT_EQ(set.best_fit(30), (OffsetRange{10, 40}));
  EXPECT_EQ(set.best_fit(31), std::nullopt);
  EXPECT_EQ(set.total(), 30u);
}

TEST(RangeSet, BestFitIsTheSmallestThatFitsAndThenTheLowest) {
  RangeSet set;
  set.add({100, 200});
  set.add({50, 60});
  set.add({0, 10});
  set.add({20, 25});
  EXPECT_EQ(set.best_fit(6), (OffsetRange{0, 10}));
  EXPECT_EQ(set.best_fit(5), (OffsetRange{20, 25}));
  EXPECT_EQ(set.best_fit(11), (OffsetRange{100, 200}));
}

TEST(RangeSet, AnEmptyRangeChangesNothing) {
  RangeSet set;
  set.add({5, 5});
  EXPECT_EQ(set.best_fit(0), std::nullopt);
  EXPECT_EQ(set.total(), 0u);
}

// Against a plain array of flags.
TEST(RangeSet, BehavesAsASetOfNumbers) {
  constexpr uint64_t kSize = 200;
  std::mt19937 random(7);
  RangeSet set;
  std::vector<bool> in(kSize);
  for (int turn = 0; turn < 5000; ++turn) {
    const uint64_t start = random() % kSize;
    const uint64_t end = start + random() % (kSize - start + 1);
    bool overlaps = false;
    for (uint64_t i = start; i < end; ++i) overlaps = overlaps || in[i];
    const bool add = !overlaps;
    if (add)
      set.add({start, end});
    else
      set.remove({start, end});
    uint64_t total = 0, longest = 0, run = 0;
    for (uint64_t i = start; i < end; ++i) in[i] = add;
    for (uint64_t i = 0; i < kSize; ++i) {
      run = in[i] ? run + 1 : 0;
      total += in[i];
      longest = std::max(longest, run);
    }
    ASSERT_EQ(set.total(), total);
    ASSERT_EQ(set.best_fit(longest + 1), std::nullopt);
    if (longest > 0) {
      const auto fit = set.best_fit(longest);
      ASSERT_TRUE(fit.has_value());
      for (uint64_t i = fit->start; i < fit->end; ++i) ASSERT_TRUE(in[i]);
    }
  }
}

}  // namespace
}  // namespace rondo
