// NodeTimes: how long the nodes of a step run, and StepClock: how far the step
// is when one of them is done.
#pragma once

#include <map>
#include <string>
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
};

// By the costs of operations and the device's rates, with `batch` rows for each
// extent that the graph leaves open, in the order in which nodes were made.
NodeTimes estimated_times(const TrainingStep& step, double batch,
                          const DeviceRates& rates);

// Updates do not advance it: in a job they come behind an exchange.
class StepClock {
 public:
  StepClock(const TrainingStep& step, const NodeTimes& times);

  // Which share of a step is over when the node is done. One that did not run
  // by itself was made part of the first that uses it, or of what it is made
  // from.
  double share(const Node& node) const;
  // Of what updates a variable.
  double update_share(const Value& variable) const;

 private:
  double seconds_ = 0;
  std::vector<double> done_;               // seconds, by node
  std::map<std::string, double> updates_;  // seconds, by variable
};

}  // namespace rondo
