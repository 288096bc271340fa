// A training graph as a workload: which gradients it has, how large they are,
// and when in a step each is there.
#pragma once

#include "rondo/plan/workload.h"
#include "rondo/planner/node_times.h"

namespace rondo {

// Whether the graph does not know how many rows a layer's factors have.
bool leaves_rows_open(const TrainingStep& step);

// Of `batch` rows for each extent that the graph leaves open. A step takes as
// long as its nodes do. Where a program's graph leaves rows open, it chooses
// what travels as factors by the most that any of them has.
Workload workload_of(const TrainingStep& step, double batch,
                     const NodeTimes& times, bool rows_are_open = false);

}  // namespace rondo
