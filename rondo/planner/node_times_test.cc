#include "rondo/planner/node_times.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

TEST(NodeTimes, EstimatesAreOfWhatIsNeededByTheRates) {
  const auto graph = std::make_shared<Graph>();
  const Value w = variable(*graph, fill(*graph, {4}, 1), {.name = "w"});
  const Value needed = exp(w);
  const Value other = tanh(needed);  // which no step needs
  GradientDescent sgd({.learning_rate = 1});
  sgd.minimize(reduce_mean(needed));
  const TrainingStep step = find_step(graph, "test").value();
  const NodeTimes times = estimated_times(step, 1, {});
  EXPECT_EQ(std::ranges::count(times, needed.node, &NodeTime::node), 1);
  EXPECT_TRUE(std::ranges::any_of(
      times, [](const NodeTime& one) { return is_update(*one.node); }));
  EXPECT_EQ(std::ranges::count(times, other.node, &NodeTime::node), 0);
  // What a rate has no part in stays.
  const auto gain = [&](double factor) {
    const DeviceRates usual;
    return total_seconds(times) -
           total_seconds(
               estimated_times(step, 1,
                               {.flops_per_s = factor * usual.flops_per_s,
                                .bytes_per_s = factor * usual.bytes_per_s}));
  };
  EXPECT_GT(gain(2), 0);
  EXPECT_NEAR(gain(4), 1.5 * gain(2), 1e-6 * gain(2));
}

}  // namespace
}  // namespace rondo
