// A training graph as a workload: which gradients it has, how large they are,
// and when in a step each is there.
#pragma once

#include "rondo/plan/workload.h"
#include "rondo/planner/node_times.h"

namespace rondo {

// Of `batch` rows for each extent that the graph leaves open. A step takes as
// long as its nodes do.
Workload workload_of(const TrainingStep& step, double batch,
                     const NodeTimes& times);

}  // namespace rondo
