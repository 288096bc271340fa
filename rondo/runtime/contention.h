// How much nodes that run at once slow each other.
#pragma once

#include <vector>

namespace rondo {

// Measured, in a few milliseconds for each number, with products of matrices:
// as PlacementRequest::contention has it, for up to `nodes` at once, each with
// so many threads. Cores that are threads of one give 1.5 to 2, others little
// more than 1.
std::vector<double> measure_contention(int nodes, int intra_op_threads);

}  // namespace rondo
