// What the times of a step tell a cost model.
#pragma once

#include <span>

#include "rondo/graph/graph.h"
#include "rondo/graph/placement/placement.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// The node of the step that an event is of: of a fused one, the last of its
// nodes; none for transfers.
RONDO_API const Node* node_of(const Graph& step, const Timeline::Event& event);

// `step` are the nodes of the run that filled `times`, before it was cut, and
// `placed` says where they were. What `contention`, of PlacementRequest, has
// added to the times of nodes that ran at once is not recorded.
RONDO_API void record_times(const Timeline& times, const Graph& step,
                            const Placement& placed,
                            std::span<const double> contention,
                            CostModel& costs);

}  // namespace rondo
