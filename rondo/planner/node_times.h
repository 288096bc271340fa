// NodeTimes: how long the nodes of a step run.
#pragma once

#include <vector>

#include "rondo/planner/training_step.h"

namespace rondo {

struct NodeTime {
  const Node* node = nullptr;
  double seconds = 0;
};

// Of those that run, in the order in which they end, one after another.
using NodeTimes = std::vector<NodeTime>;

double total_seconds(const NodeTimes& times);

struct DeviceRates {
  double flops_per_s = 3e10;
  double bytes_per_s = 8e9;
  double node_seconds = 2e-6;  // of each node besides, whatever the rates
};

// By the costs of operations and the device's rates, with `batch` rows for each
// extent that the graph leaves open, in the order in which nodes were made.
NodeTimes estimated_times(const TrainingStep& step, double batch,
                          const DeviceRates& rates);

}  // namespace rondo
