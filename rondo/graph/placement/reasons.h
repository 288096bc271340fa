// Reasons: why each node is where it is, in a few words.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/placement/list_scheduler.h"
#include "rondo/graph/placement/simulator.h"

namespace rondo {

class Reasons {
 public:
  Reasons(const PlacementRequest& request, const PlacementProblem& problem,
          const Candidates& candidates, const Colocation& together,
          Simulator& simulator, const ListSchedule& first,
          const Assignment& chosen, double step_seconds);

  std::string of(const Node& node) const;

 private:
  std::string why_group(int group, Simulator& simulator, double step_seconds);
  std::string finishes_first(int group) const;
  std::string name(int device) const;

  const PlacementRequest& request_;
  const PlacementProblem& problem_;
  const Candidates& candidates_;
  const Colocation& together_;
  const ListSchedule& first_;
  const Assignment& chosen_;
  int simulations_ = 200;  // that explanations may cost
  std::vector<std::string> groups_;
};

// "1.25 ms".
std::string milliseconds(double seconds);

}  // namespace rondo
