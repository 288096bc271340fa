#include "rondo/kernels/bucket_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rondo {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kUsual = 8;

// One unit that leaves first, and 40 others of a quarter of the usual limit.
std::vector<ExchangeUnit> units(int64_t count = 41) {
  std::vector<ExchangeUnit> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back({.sequence = i, .bytes = 2});
  return all;
}

std::vector<int64_t> limits_of(const BucketTuner& tuner) {
  std::vector<int64_t> limits;
  for (const auto& size : tuner.choice().sizes) limits.push_back(size.limit);
  return limits;
}

// Makes all steps up to the one that settles, a step of size i taking
// seconds[i]; gives the sizes that were tried, in order.
std::vector<size_t> try_all(BucketTuner& tuner,
                            const std::vector<double>& seconds) {
  std::vector<size_t> tried;
  while (true) {
    const BucketTuner::Step step = tuner.next();
    if (step.settles) return tried;
    tuner.count();
    if (!step.trial) continue;
    tried.push_back(*step.trial);
    tuner.record(*step.trial, seconds[*step.trial]);
  }
}

TEST(BucketTuner, TriesSizesInTurn) {
  BucketTuner tuner(units(), kUsual);
  EXPECT_THAT(limits_of(tuner), ElementsAre(8, 2, 32, 128));
  EXPECT_EQ(tuner.choice().sizes[0].buckets, 11);
  EXPECT_EQ(tuner.choice().sizes[1].buckets, 41);
  EXPECT_EQ(tuner.choice().sizes[3].buckets, 2);
  for (int64_t i = 0; i < BucketTuner::kWarmUp; ++i) {
    EXPECT_FALSE(tuner.next().trial);
    EXPECT_EQ(tuner.next().buckets->at(1), 4) << "the usual ones";
    tuner.count();
  }
  const std::vector<size_t> tried = try_all(tuner, {4, 3, 2, 1});
  EXPECT_EQ(tried.size(), 4 * static_cast<size_t>(BucketTuner::kRounds));
  EXPECT_THAT(std::vector(tried.begin(), tried.begin() + 5),
              ElementsAre(0, 1, 2, 3, 0));
  EXPECT_THAT(tuner.measured(), ElementsAre(4, 3, 2, 1));
}

TEST(BucketTuner, KeepsTheQuickest) {
  BucketTuner tuner(units(), kUsual);
  try_all(tuner, {1, 1, 1, 1});
  EXPECT_FALSE(tuner.choice().settled);
  // By what all measured, whatever this rank did.
  tuner.settle(std::vector<double>{4, 3, 2, 5});
  EXPECT_TRUE(tuner.choice().settled);
  EXPECT_EQ(tuner.choice().chosen, 2U);
  EXPECT_EQ(tuner.next().buckets->at(1), 16);
  EXPECT_FALSE(tuner.next().trial);
  EXPECT_FALSE(tuner.next().settles);
}

TEST(BucketTuner, StaysWithTheUsualSizeWhereOthersGainLittle) {
  BucketTuner tuner(units(), kUsual);
  tuner.settle(std::vector<double>{1.0, 0.99, 0.985, 1.5});
  EXPECT_EQ(tuner.choice().chosen, 0U);
}

TEST(BucketTuner, StaysWithTheUsualSizeWhereARankHasNotMeasured) {
  BucketTuner tuner(units(), kUsual);
  EXPECT_TRUE(std::isnan(tuner.measured()[0]));
  tuner.settle(std::vector<double>{2, 1, NAN, 1});
  EXPECT_TRUE(tuner.choice().settled);
  EXPECT_EQ(tuner.choice().chosen, 0U);
}

TEST(BucketTuner, MeasuresTheMedian) {
  BucketTuner tuner(units(), kUsual);
  for (const double seconds : {1.0, 100.0, 2.0, 1.5, 1.0})
    tuner.record(1, seconds);
  EXPECT_EQ(tuner.measured()[1], 1.5);
}

TEST(BucketTuner, HasNothingToTryWhereAllSizesGiveTheSame) {
  BucketTuner tuner(units(2), kUsual);
  EXPECT_THAT(limits_of(tuner), ElementsAre(kUsual));
  EXPECT_TRUE(tuner.choice().settled);
  EXPECT_FALSE(tuner.next().trial);
  EXPECT_FALSE(tuner.next().settles);
}

TEST(BucketTuner, SaysWhatItFound) {
  constexpr int64_t kMiB = 1 << 20;
  BucketChoice choice{
      .sizes = {{4 * kMiB, 26, 0.2}, {kMiB, 90, 0.21}, {16 * kMiB, 8, 0.1901}}};
  EXPECT_EQ(to_text(choice),
            "buckets of up to 4 MiB, 26 in a step, are still being tuned");
  choice.settled = true;
  choice.chosen = 2;
  EXPECT_EQ(to_text(choice),
            "buckets of up to 16 MiB, 8 in a step: 190.1 ms a step; with 4 MiB "
            "200 ms, 1 MiB 210 ms");
  choice = {.sizes = {{4 * kMiB, 2}}, .settled = true};
  EXPECT_EQ(to_text(choice),
            "buckets of up to 4 MiB, 2 in a step: other sizes give the same");
}

}  // namespace
}  // namespace rondo
