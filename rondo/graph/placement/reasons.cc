#include "rondo/graph/placement/reasons.h"

#include <algorithm>

namespace rondo {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

std::string milliseconds(double seconds) {
  return fmt::format("{:.4g} ms", seconds * 1e3);
}

Reasons::Reasons(const PlacementRequest& request,
                 const PlacementProblem& problem, const Candidates& candidates,
                 const Colocation& together, Simulator& simulator,
                 const ListSchedule& first, const Assignment& chosen,
                 double step_seconds)
    : request_(request),
      problem_(problem),
      candidates_(candidates),
      together_(together),
      first_(first),
      chosen_(chosen) {
  for (size_t g = 0; g < problem.groups.size(); ++g)
    groups_.push_back(why_group(static_cast<int>(g), simulator, step_seconds));
}

std::string Reasons::name(int device) const {
  return request_.devices[at(device)].name.to_string();
}

std::string Reasons::finishes_first(int group) const {
  const auto& finish = first_.finish[at(group)];
  const int here = chosen_[at(group)];
  if (finish.empty()) return "follows its first user";
  int other = -1;
  for (int d = 0; d < problem_.devices; ++d)
    if (d != here && finish[at(d)] >= 0 &&
        (other < 0 || finish[at(d)] < finish[at(other)]))
      other = d;
  if (other < 0 || finish[at(other)] < finish[at(here)])
    return "no room elsewhere";
  return fmt::format("{}: at {}, on {} at {}",
                     finish[at(other)] > finish[at(here)]
                         ? "finishes first"
                         : "finishes as early as elsewhere",
                     milliseconds(finish[at(here)]), name(other),
                     milliseconds(finish[at(other)]));
}

std::string Reasons::why_group(int group, Simulator& simulator,
                               double step_seconds) {
  const NodeGroup& members = candidates_.groups[at(group)];
  if (!members.why.empty()) return members.why;
  if (problem_.groups[at(group)].items.empty())
    return "the step does not run it";
  const int before = first_.assignment[at(group)];
  if (before == chosen_[at(group)]) return finishes_first(group);
  if (simulations_-- <= 0) return "by search";
  Assignment back = chosen_;
  back[at(group)] = before;
  const double other = simulator.score(back).seconds;
  if (other <= step_seconds) return "by search, with others";
  return fmt::format("by search: the step takes {}, with it on {} {}",
                     milliseconds(step_seconds), name(before),
                     milliseconds(other));
}

std::string Reasons::of(const Node& node) const {
  const int group = candidates_.group_of[at(node.id())];
  const Tie& tie = together_.tie(node.id());
  if (!tie.to) return groups_[at(group)];
  return fmt::format("with \"{}\": {}", tie.to->name(), tie.because);
}

}  // namespace rondo
