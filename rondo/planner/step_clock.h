// StepClock: how far a step is when one of its nodes is done.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rondo/planner/node_times.h"

namespace rondo {

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
