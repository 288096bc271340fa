#include "rondo/trainer/step_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

Timeline::Event event(const char* op, double start, double end,
                      const char* name = nullptr) {
  return {
      .node = name ? name : op, .op = op, .start_us = start, .us = end - start};
}

double share(const std::vector<Timeline::Event>& events) {
  return step_waits(events).share();
}

TEST(StepWaits, AreTimesOfExchangesAlone) {
  EXPECT_EQ(share({}), 0);
  EXPECT_EQ(share({event("MatMul", 0, 10)}), 0);
  // Hidden behind computing until 6; from 6 to 8 nothing else runs.
  EXPECT_DOUBLE_EQ(share({event("MatMul", 0, 4), event("AllReduce", 3, 8),
                          event("Relu", 4, 6), event("Update", 8, 10)}),
                   0.2);
  // Two exchanges at once are waited for once.
  EXPECT_DOUBLE_EQ(share({event("MatMul", 0, 5), event("AllReduce", 4, 9),
                          event("AllGatherRows", 5, 10)}),
                   0.5);
}

// By name, as they come in another order on each worker.
TEST(StepWaits, ExchangesAreInTheOrderOfTheirNames) {
  const StepWaits waits =
      step_waits({event("MatMul", 0, 3), event("AllReduce", 2, 8, "b"),
                  event("AllReduce", 5, 10, "a")});
  EXPECT_THAT(waits.exchange_us, ElementsAre(5, 6));
  // b was first, until it ended at 8.
  std::vector<size_t> waited_for;
  for (const StepWaits::Exposed& wait : waits.exposed)
    waited_for.push_back(wait.exchange);
  EXPECT_THAT(waited_for, ElementsAre(1, 1, 0));
  EXPECT_DOUBLE_EQ(waits.share(), 0.7);
}

// A step of 10 in which an exchange is under way from `begin` to 10, and
// nothing computes from then on.
StepWaits waiting_from(double begin) {
  return step_waits({event("MatMul", 0, begin), event("AllReduce", begin, 10)});
}

TEST(DivideWaits, WhoCameLastIsWaitedFor) {
  // Worker 1 came at 8 and the exchange itself took 2.
  const StepWaits step = waiting_from(3);
  const std::vector<double> all = {7, 2, 5};
  const WaitShares first = divide_waits({&step, 1}, all, 3);
  EXPECT_THAT(first.for_worker, ElementsAre(0, DoubleEq(0.5), 0));
  EXPECT_DOUBLE_EQ(first.communication, 0.2);
  EXPECT_DOUBLE_EQ(first.for_others(), 0.5);
  // It did not wait for anybody itself.
  const StepWaits last = waiting_from(8);
  const WaitShares own = divide_waits({&last, 1}, all, 3);
  EXPECT_THAT(own.for_worker, ElementsAre(0, 0, 0));
  EXPECT_DOUBLE_EQ(own.communication, 0.2);
}

TEST(DivideWaits, AreMeansOverSteps) {
  const std::vector<StepWaits> steps = {waiting_from(3), waiting_from(6)};
  // In the first step worker 1 was last, by 5; in the second worker 0.
  const WaitShares shares =
      divide_waits(steps, std::vector<double>{7, 4, 2, 9}, 2);
  EXPECT_THAT(shares.for_worker, ElementsAre(0, DoubleEq(0.25)));
  EXPECT_DOUBLE_EQ(shares.communication, 0.3);
}

// What others hide behind computing is not waiting.
TEST(DivideWaits, HiddenTimeDoesNotCount) {
  const StepWaits step =
      step_waits({event("MatMul", 0, 9), event("AllReduce", 2, 10, "bucket")});
  // The other came at 8; what is exposed, from 9 on, is communication.
  const WaitShares shares =
      divide_waits({&step, 1}, std::vector<double>{8, 2}, 2);
  EXPECT_THAT(shares.for_worker, ElementsAre(0, 0));
  EXPECT_DOUBLE_EQ(shares.communication, 0.1);
}

}  // namespace
}  // namespace rondo
