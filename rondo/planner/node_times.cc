#include "rondo/planner/node_times.h"

#include <numeric>

#include "rondo/graph/placement/cost_model.h"

namespace rondo {

double total_seconds(const NodeTimes& times) {
  return std::accumulate(
      times.begin(), times.end(), 0.0,
      [](double sum, const NodeTime& one) { return sum + one.seconds; });
}

NodeTimes estimated_times(const TrainingStep& step, double batch,
                          const DeviceRates& rates) {
  const CostModel costs({.unknown_extent = batch});
  DeviceInfo device;
  device.flops_per_s = rates.flops_per_s;
  device.bytes_per_s = rates.bytes_per_s;
  device.node_seconds = rates.node_seconds;
  NodeTimes times;
  for (const Node* node : step.needed())
    times.push_back({node, costs.estimate(*node, device)});
  return times;
}

}  // namespace rondo
