// What several runs of a step have together: the gradients of micro-batches.
//
// A session keeps, for each of these nodes, what came in the runs before. In
// the last of `count` runs a node gives it and begins again; in the others it
// gives nothing, so that nothing behind it runs, as in a branch that is not
// taken. A run that fails once it has come to any of them makes all of its
// nodes begin again; one that fails before is not counted.
#pragma once

#include <string>

#include "rondo/graph/ops/exchange.h"

namespace rondo {

// The mean of x, which has the same shape in all of them.
RONDO_API Value mean_of_runs(Value x, int64_t count, std::string name = {});
// The rows and indices of all of them, one run's behind the other's, with the
// rows divided by their number: a sparse gradient's mean.
RONDO_API Rows rows_of_runs(const Rows& rows, int64_t count,
                            std::string name = {});

}  // namespace rondo
