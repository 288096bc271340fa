#include "rondo/runtime/explain_placed.h"

#include "rondo/graph/placement/placement.h"

namespace rondo {

Result<std::string> explain_placed(const Subgraph& step,
                                   const std::vector<std::string>& asked,
                                   const std::vector<std::string>& devices) {
  PlacementRequest request;
  for (const std::string& name : devices) {
    RONDO_ASSIGN_OR_RETURN(DeviceName parsed, DeviceName::parse(name));
    request.devices.push_back({.name = std::move(parsed)});
  }
  // The nodes ask for where they are, so there is nothing to look for. Soft:
  // who placed them may have had other rules.
  request.soft = true;
  request.budget.evaluations = 0;
  RONDO_ASSIGN_OR_RETURN(Placement placement, place(*step.graph, request));
  for (const auto& node : step.graph->nodes()) {
    const auto id = static_cast<size_t>(node->id());
    PlacedNode& placed = placement.nodes[id];
    placed.device = node->device();
    placed.why = devices.size() == 1 ? "the only device"
                 : asked[id].empty() ? "asks for nothing"
                                     : fmt::format("asked for: {}", asked[id]);
  }
  return explain(placement);
}

}  // namespace rondo
