// What the times of a step tell a cost model.
#pragma once

#include "rondo/graph/graph.h"
#include "rondo/graph/placement/placement.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// `step` are the nodes of the run that filled `times`, before it was cut, and
// `placed` says where they were.
RONDO_API void record_times(const Timeline& times, const Graph& step,
                            const Placement& placed, CostModel& costs);

}  // namespace rondo
