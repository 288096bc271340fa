#include "rondo/planner/step_clock.h"

#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

// w, two values made of it, one after the other, and an update.
class StepClockTest : public ::testing::Test {
 protected:
  StepClockTest() : graph_(std::make_shared<Graph>()) {
    w_ = variable(*graph_, fill(*graph_, {4}, 1), {.name = "w"});
    first_ = exp(w_);
    second_ = tanh(first_);
    GradientDescent sgd({.learning_rate = 1});
    sgd.minimize(reduce_mean(second_));
    step_ = find_step(graph_, "test").value();
    for (const auto& node : graph_->nodes())
      if (is_update(*node)) update_ = node.get();
  }

  std::shared_ptr<Graph> graph_;
  Value w_, first_, second_;
  const Node* update_ = nullptr;
  TrainingStep step_;
};

TEST_F(StepClockTest, SharesAddUpInTheOrderOfTheTimes) {
  const StepClock clock(step_, {{first_.node, 1}, {second_.node, 3}});
  EXPECT_DOUBLE_EQ(clock.share(*first_.node), 0.25);
  EXPECT_DOUBLE_EQ(clock.share(*second_.node), 1);
}

TEST_F(StepClockTest, UpdatesDoNotAdvanceIt) {
  const StepClock clock(step_,
                        {{first_.node, 1}, {update_, 2}, {second_.node, 1}});
  EXPECT_DOUBLE_EQ(clock.share(*second_.node), 0.5);
  EXPECT_DOUBLE_EQ(clock.update_share(w_), 0.5);
}

TEST_F(StepClockTest, WhatDidNotRunIsPartOfItsFirstUse) {
  const StepClock clock(step_, {{w_.node, 1}, {second_.node, 1}});
  EXPECT_DOUBLE_EQ(clock.share(*first_.node), 1);
}

// Nothing but an update uses the gradient, so it is there as soon as what it is
// made of.
TEST_F(StepClockTest, WhatOnlyAnUpdateUsesIsPartOfWhatItIsMadeFrom) {
  const Node& gradient = *step_.gradients[0].gradient.values.node;
  NodeTimes times = {{w_.node, 1}, {first_.node, 1}};
  for (const Value& input : gradient.inputs()) times.push_back({input.node, 1});
  times.push_back({update_, 1});
  const StepClock clock(step_, times);
  EXPECT_DOUBLE_EQ(clock.share(gradient),
                   1 - 1 / static_cast<double>(times.size()));
}

TEST_F(StepClockTest, OfNothingAllIsOver) {
  const StepClock clock(step_, {});
  EXPECT_DOUBLE_EQ(clock.share(*first_.node), 1);
  EXPECT_DOUBLE_EQ(clock.update_share(w_), 0);
}

}  // namespace
}  // namespace rondo
