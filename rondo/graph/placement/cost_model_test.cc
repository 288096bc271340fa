#include "rondo/graph/placement/cost_model.h"

#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/placement/test_graph.h"

namespace rondo {
namespace {

DeviceInfo round_rates(int i) {
  DeviceInfo d = device(cpu(i));
  d.flops_per_s = 1e9;
  d.bytes_per_s = 1e9;
  d.node_seconds = 1e-6;
  return d;
}

TEST(CostModel, EstimatesByTheLongerOfComputingAndMoving) {
  Graph g;
  const CostModel costs;
  const Value a = placeholder(g, {.shape = {100, 200}});
  const Value b = placeholder(g, {.shape = {200, 50}});
  const Value product = matmul(a, b);
  EXPECT_NEAR(costs.estimate(*product.node, round_rates(0)),
              1e-6 + 2.0 * 100 * 200 * 50 / 1e9, 1e-12);
  const Value sum = add(a, a);
  EXPECT_NEAR(costs.estimate(*sum.node, round_rates(0)),
              1e-6 + 3 * 4.0 * 100 * 200 / 1e9, 1e-12);
  // What only hands a tensor on costs what any node does.
  EXPECT_DOUBLE_EQ(costs.estimate(*identity(a).node, round_rates(0)), 1e-6);
  EXPECT_EQ(costs.bytes(product), 4.0 * 100 * 50);
}

TEST(CostModel, UnknownExtentsCountAsTheOptionSays) {
  Graph g;
  const CostModel costs({.unknown_extent = 10});
  const Value x = placeholder(g, {.shape = {kAny, 200}});
  const Value w = placeholder(g, {.shape = {200, 50}});
  EXPECT_EQ(costs.bytes(x), 10 * 200 * 4);
  EXPECT_NEAR(costs.estimate(*matmul(x, w).node, round_rates(0)),
              1e-6 + 2.0 * 10 * 200 * 50 / 1e9, 1e-12);
  EXPECT_EQ(costs.bytes(placeholder(g, {.shape = PartialShape()})), 10 * 4);
}

TEST(CostModel, MeasuredSizesMakeEstimatesBetter) {
  Graph g;
  CostModel costs;
  const Value x = placeholder(g, {.shape = {kAny, 200}, .name = "x"});
  const Value y = add(x, x);
  costs.record_output("x", 0, 80000);
  costs.record_output(y.node->name(), 0, 80000);
  EXPECT_EQ(costs.bytes(x), 80000);
  EXPECT_NEAR(costs.estimate(*y.node, round_rates(0)), 1e-6 + 3 * 8e-5, 1e-9);
}

TEST(CostModel, MeasuredTimesTakeThePlaceOfEstimates) {
  Graph g;
  CostModel costs({.newest = 0.5});
  const Value x = placeholder(g, {.shape = {1000}, .name = "x"});
  const Value y = add(x, x);
  DeviceInfo slow = round_rates(1);
  slow.bytes_per_s /= 2;
  slow.node_seconds *= 2;
  const std::vector<DeviceInfo> devices = {round_rates(0), slow};
  EXPECT_FALSE(costs.has_run(y.node->name()));
  costs.record_run(y.node->name(), cpu(0), 4e-3);
  EXPECT_TRUE(costs.has_run(y.node->name()));
  // On the other, which would need twice the time by the estimate.
  EXPECT_NEAR(costs.seconds(*y.node, devices)[0], 4e-3, 1e-12);
  EXPECT_NEAR(costs.seconds(*y.node, devices)[1], 8e-3, 1e-12);
  costs.record_run(y.node->name(), cpu(0), 2e-3);
  EXPECT_NEAR(costs.seconds(*y.node, devices)[0], 3e-3, 1e-12);
  costs.record_run(y.node->name(), cpu(1), 1e-3);
  EXPECT_NEAR(costs.seconds(*y.node, devices)[1], 1e-3, 1e-12);
}

TEST(CostModel, NodesOfLoopsRunSeveralTimes) {
  Graph g;
  const CostModel costs({.loop_iterations = 7});
  const Value x = placeholder(g, {.shape = {8}});
  const Node& node = *add(x, x).node;
  const double once = costs.estimate(node, round_rates(0));
  EXPECT_NEAR(costs.estimate(node, round_rates(0), 2), 49 * once, 1e-9);
}

TEST(CostModel, LinksAreGuessedByHowFarDevicesAreApart) {
  const DeviceInfo a = device("/job:w/task:0/cpu:0");
  const DeviceInfo same_process = device("/job:w/task:0/cpu:1");
  const DeviceInfo gpu = device("/job:w/task:0/gpu:0");
  DeviceInfo same_host = device("/job:w/task:1/cpu:0");
  const DeviceInfo far = device("/job:w/task:2/cpu:0");
  DeviceInfo here = a;
  here.host = same_host.host = "node7";
  const auto seconds = [](DeviceLink link) {
    return link.latency + 1e6 / link.bytes_per_s;
  };
  EXPECT_LT(seconds(default_link(a, a)),
            seconds(default_link(a, same_process)));
  EXPECT_LT(seconds(default_link(a, same_process)),
            seconds(default_link(a, gpu)));
  EXPECT_LT(seconds(default_link(a, gpu)),
            seconds(default_link(here, same_host)));
  EXPECT_LT(seconds(default_link(here, same_host)),
            seconds(default_link(here, far)));
}

TEST(CostModel, MeasuredTransfersGiveTheLinksLatencyAndSpeed) {
  CostModel costs;
  const auto devices = cpus(2);
  const DeviceLinks given = links_of(devices, {.latency = 1, .bytes_per_s = 1});
  EXPECT_EQ(costs.link(devices[0], devices[1], given).latency, 1);
  for (const double bytes : {1e3, 1e6, 1e5, 2e6})
    costs.record_transfer(cpu(0), cpu(1), bytes, 5e-5 + bytes / 2e9);
  const DeviceLink link = costs.link(devices[0], devices[1], given);
  EXPECT_NEAR(link.latency, 5e-5, 1e-9);
  EXPECT_NEAR(link.bytes_per_s, 2e9, 1e3);
  // The other direction is another link.
  EXPECT_EQ(costs.link(devices[1], devices[0], given).latency, 1);
}

TEST(CostModel, TransfersOfOneSizeGiveTheSpeedOrTheLatency) {
  CostModel costs;
  const auto devices = cpus(2);
  const DeviceLinks given =
      links_of(devices, {.latency = 1e-4, .bytes_per_s = 1e9});
  costs.record_transfer(cpu(0), cpu(1), 1e7, 1e-4 + 2e-2);
  EXPECT_NEAR(costs.link(devices[0], devices[1], given).bytes_per_s, 5e8, 1);
  costs.record_transfer(cpu(1), cpu(0), 4, 3e-4);
  EXPECT_NEAR(costs.link(devices[1], devices[0], given).latency, 3e-4, 1e-12);
}

}  // namespace
}  // namespace rondo
