// How much nodes that run at once slow each other.
#pragma once

#include <span>
#include <vector>

namespace rondo {

// Measured, in a few milliseconds for each number, with products of matrices:
// as PlacementRequest::contention has it, for up to `nodes` at once, each with
// so many threads. Cores that are threads of one give 1.5 to 2, others little
// more than 1. For fewer where the system has no more threads.
std::vector<double> measure_contention(int nodes, int intra_op_threads);

// What follows from the seconds that 1, 2, ... nodes took.
std::vector<double> contention_of(std::span<const double> seconds);

}  // namespace rondo
