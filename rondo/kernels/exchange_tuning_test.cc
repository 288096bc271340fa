// ExchangeGroup: units that travel together, in buckets of tuned sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <vector>

#include "rondo/kernels/recording_exchange.h"

namespace rondo {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kUnits = 21;
constexpr int64_t kBytes = 8;  // of a unit
constexpr int64_t kUsual = 4 * kBytes;
// By the number of a size, how many units each bucket of a step has.
const std::vector<std::vector<size_t>> kSizes = {
    {1, 4, 4, 4, 4, 4}, std::vector<size_t>(kUnits, 1), {1, 16, 4}, {1, 20}};

struct Log : ExchangeLog {
  std::vector<size_t> buckets;  // how many tensors each had
  std::vector<ReduceTerms> terms;
  // What all ranks have measured, in the mean; how often that was asked for.
  std::vector<double> means = {1, 1, 1, 1};
  int asked = 0;
  Status answer;  // to that
};

// The other rank has what this one has.
class Recorder final : public RecordingExchange {
 public:
  explicit Recorder(std::shared_ptr<Log> log)
      : RecordingExchange(log), log_(std::move(log)) {}
  Status all_reduce(std::span<Tensor> tensors,
                    const ReduceTerms& terms) override {
    if (tensors[0].dtype() == DType::kF64) {
      ++log_->asked;
      std::ranges::copy(log_->means, tensors[0].span<double>().begin());
      return log_->answer;
    }
    log_->buckets.push_back(tensors.size());
    log_->terms.push_back(terms);
    for (Tensor& tensor : tensors)
      for (float& x : tensor.span<float>()) x *= 2;
    return {};
  }

 private:
  const std::shared_ptr<Log> log_;
};

class ExchangeTuning : public testing::Test {
 protected:
  static ExchangeUnit unit(int64_t sequence) {
    return {.sequence = sequence, .bytes = kBytes, .terms = {.average = false}};
  }

  std::future<Status> submit(ExchangeRun& run, int64_t sequence,
                             std::span<Tensor> tensors) {
    return submit_to(*group, run, sequence, cancellation, tensors);
  }

  // A step of all units but those; how many units each of its buckets had. What
  // is left out is so before the first unit comes, or behind the last.
  std::vector<size_t> step(const std::vector<int64_t>& left_out = {},
                           bool early = true) {
    log->buckets.clear();
    ExchangeRun run;
    for (int64_t i = kUnits - 1; i >= 0; --i) group->expect(run, unit(i));
    std::vector<Tensor> tensors;
    for (int i = 0; i < kUnits; ++i)
      tensors.push_back(Tensor::full({2}, static_cast<float>(i)));
    std::vector<std::future<Status>> ends;
    const auto leave_out = [&] {
      for (const int64_t i : left_out) group->leave_out(run, i);
    };
    if (early) leave_out();
    for (int64_t i = kUnits - 1; i >= 0; --i)
      if (std::ranges::count(left_out, i) == 0)
        ends.push_back(submit(run, i, {&tensors[static_cast<size_t>(i)], 1}));
    if (!early) leave_out();
    for (auto& end : ends) last = end.get();
    group->end(run, last);
    for (int64_t i = 0; i < kUnits && last.ok(); ++i) {
      const float sum = std::ranges::count(left_out, i) == 0 ? 2 : 1;
      EXPECT_THAT(tensors[static_cast<size_t>(i)].span<float>(),
                  Each(sum * static_cast<float>(i)));
    }
    return log->buckets;
  }

  // Up to the step in which the ranks decide.
  void try_all() {
    for (int64_t i = 0; i < BucketTuner::kWarmUp; ++i)
      EXPECT_EQ(step(), kSizes[0]);
    for (int64_t round = 0; round < BucketTuner::kRounds; ++round)
      for (const auto& size : kSizes) EXPECT_EQ(step(), size);
    EXPECT_EQ(log->asked, 0);
  }

  std::shared_ptr<Log> log = std::make_shared<Log>();
  std::shared_ptr<ExchangeGroup> group = std::make_shared<ExchangeGroup>(
      "group", std::make_unique<Recorder>(log), kUsual);
  Cancellation cancellation;
  Status last;
};

TEST_F(ExchangeTuning, SizesChangeWithTheStepAndTheQuickestStays) {
  try_all();
  EXPECT_FALSE(group->choices()[0].settled);
  log->means = {4, 5, 2, 3};
  EXPECT_EQ(step(), kSizes[0]);
  EXPECT_EQ(log->asked, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(), kSizes[2]);
  EXPECT_EQ(log->asked, 1);
  ASSERT_EQ(group->choices().size(), 1U);
  EXPECT_TRUE(group->choices()[0].settled);
  EXPECT_EQ(group->choices()[0].chosen, 2U);
  EXPECT_EQ(group->choices()[0].sizes[2].seconds, 2);
  EXPECT_THAT(log->terms, Each(ReduceTerms{.average = false}));
  EXPECT_THAT(log->aborts, IsEmpty());
}

TEST_F(ExchangeTuning, WithoutALimitUnitsTravelAlone) {
  group =
      std::make_shared<ExchangeGroup>("group", std::make_unique<Recorder>(log));
  EXPECT_EQ(step(), kSizes[1]);
  EXPECT_THAT(group->choices(), IsEmpty());
}

TEST_F(ExchangeTuning, WhatIsLeftOutDoesNotMoveTheOthers) {
  EXPECT_THAT(step({0, 2}, true), ElementsAre(3, 4, 4, 4, 4));
  EXPECT_THAT(step({0, 2}, false), ElementsAre(3, 4, 4, 4, 4));
}

TEST_F(ExchangeTuning, StepsThatIssueNothingDoNotCount) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < kUnits; ++i) all.push_back(i);
  EXPECT_THAT(step(all), IsEmpty());
  // Nor does one whose data end before its first exchange.
  ExchangeRun run;
  group->expect(run, unit(1));
  group->expect(run, unit(2));
  group->end(run, error(Code::kOutOfRange, "no more"));
  try_all();
  EXPECT_THAT(log->aborts, IsEmpty());
}

TEST_F(ExchangeTuning, StepsOfAnotherKindAreTunedByThemselves) {
  const auto other = [&] {
    log->buckets.clear();
    ExchangeRun run;
    std::vector<Tensor> tensors = {Tensor::full({2}, 1.0F),
                                   Tensor::full({2}, 1.0F)};
    group->expect(run, unit(100));
    group->expect(run, unit(101));
    auto second = submit(run, 101, {&tensors[1], 1});
    EXPECT_TRUE(submit(run, 100, {tensors.data(), 1}).get().ok());
    EXPECT_TRUE(second.get().ok());
    group->end(run, {});
    EXPECT_THAT(log->buckets, ElementsAre(1, 1));
  };
  for (int64_t i = 0; i < BucketTuner::kWarmUp; ++i) {
    other();
    EXPECT_EQ(step(), kSizes[0]);
  }
  for (const auto& size : kSizes) {
    other();
    EXPECT_EQ(step(), size);
  }
  ASSERT_EQ(group->choices().size(), 2U);
}

TEST_F(ExchangeTuning, ARankThatIsLostWhileAllDecideEndsTheStep) {
  try_all();
  log->answer = error(Code::kPeerLost, "rank 1 is gone");
  step();
  EXPECT_EQ(last.code(), Code::kPeerLost);
  EXPECT_THAT(log->aborts, Contains(HasSubstr("rank 1 is gone")));
  EXPECT_FALSE(group->choices()[0].settled);
}

}  // namespace
}  // namespace rondo
