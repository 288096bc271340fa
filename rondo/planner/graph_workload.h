// A training graph as a workload: which gradients it has, how large they are,
// and when in a step each is there.
#pragma once

#include "rondo/plan/workload.h"
#include "rondo/planner/node_times.h"

namespace rondo {

// Of each gradient, whether it has factors of which the graph does not know how
// many rows they have.
std::vector<bool> open_factors(const TrainingStep& step);

// Of `batch` rows for each extent that the graph leaves open. A step takes as
// long as its nodes do. A program chooses which of the `open` factors travel by
// the most rows that any of these has, none where it is empty.
Workload workload_of(const TrainingStep& step, double batch,
                     const NodeTimes& times,
                     const std::vector<bool>& open = {});

}  // namespace rondo
