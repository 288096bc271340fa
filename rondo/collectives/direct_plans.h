// The collectives in the shared memory of one host: every rank shows its
// buffers, each does its part of the work on everybody's, and a fence ends it.
// Pure functions, one per operation; n ranks, all on one host. `unit` is the
// number of elements in a cache line: slices begin on one.
#pragma once

#include <cstdint>
#include <span>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan.h"

namespace rondo {

// Part i of [0, count) as part_of cuts it, but in whole units.
Part aligned_part(int64_t count, int parts, int i, int64_t unit);

// Rank r reads slice r of all n inputs and stores the result into all outputs:
// 2 n D bytes through memory for a vector of D, two meetings.
Plan direct_allreduce(const AllreduceArgs& args);
Plan direct_reduce(int n, int rank, int root, int64_t count, int64_t unit);
Plan direct_broadcast(int n, int rank, int root, int64_t count);
// counts[r] elements of each rank; `in_place` as in ring_allgather.
Plan direct_allgather(int n, int rank, std::span<const int64_t> counts);
Plan direct_reduce_scatter(int n, int rank, int64_t count);
Plan direct_gather(int n, int rank, int root, int64_t count);
Plan direct_scatter(int n, int rank, int root, int64_t count);
Plan direct_all_to_all(int n, int rank, int64_t count);

}  // namespace rondo
