// Direct: the ranks of one host work in each other's memory. Each plan is
// kShare, this rank's part of the work, kFence: nobody leaves while another may
// still read or write its buffers.
#include <algorithm>

#include "rondo/collectives/direct_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {
namespace {

template <class Work>
Plan between_meetings(Work work) {
  Plan plan;
  plan.share(0);
  work(plan);
  plan.fence(2);
  return plan;
}

}  // namespace

Part aligned_part(int64_t count, int parts, int i, int64_t unit) {
  const int64_t units = (count + unit - 1) / unit;
  const Part whole = part_of(units, parts, i);
  const int64_t begin = std::min(count, whole.offset * unit);
  const int64_t end = std::min(count, (whole.offset + whole.count) * unit);
  return {begin, end - begin};
}

Plan direct_allreduce(const AllreduceArgs& args) {
  return between_meetings([&](Plan& plan) {
    const Part slice = aligned_part(args.count, args.n, args.rank, args.unit);
    plan.slice_reduce(-1, input_range(slice), output_range(slice), 1);
    plan.actions.back().finishes = true;
  });
}

Plan direct_reduce(int n, int rank, int root, int64_t count, int64_t unit) {
  return between_meetings([&](Plan& plan) {
    const Part slice = aligned_part(count, n, rank, unit);
    plan.slice_reduce(root, input_range(slice), output_range(slice), 1);
    plan.actions.back().finishes = true;
  });
}

Plan direct_broadcast(int /*n*/, int rank, int root, int64_t count) {
  return between_meetings([&](Plan& plan) {
    const Range all{Buffer::kOutput, 0, count};
    if (rank != root) plan.pull(root, all, all, 1);
  });
}

Plan direct_allgather(int n, int rank, std::span<const int64_t> counts) {
  return between_meetings([&](Plan& plan) {
    const auto parts = parts_of(counts);
    for (int k = 0; k < n; ++k) {
      const int peer = wrap(rank + k, n);
      const Part part = parts[static_cast<size_t>(peer)];
      plan.pull(peer, input_range({0, part.count}), output_range(part), 1);
    }
  });
}

Plan direct_reduce_scatter(int /*n*/, int rank, int64_t count) {
  return between_meetings([&](Plan& plan) {
    plan.slice_reduce(rank, input_range({rank * count, count}),
                      output_range({0, count}), 1);
    plan.actions.back().finishes = true;
  });
}

Plan direct_gather(int n, int rank, int root, int64_t count) {
  return between_meetings([&](Plan& plan) {
    if (rank != root) return;
    for (int peer = 0; peer < n; ++peer)
      plan.pull(peer, input_range({0, count}),
                output_range({peer * count, count}), 1);
  });
}

Plan direct_scatter(int /*n*/, int rank, int root, int64_t count) {
  return between_meetings([&](Plan& plan) {
    plan.pull(root, input_range({rank * count, count}),
              output_range({0, count}), 1);
  });
}

Plan direct_all_to_all(int n, int rank, int64_t count) {
  return between_meetings([&](Plan& plan) {
    for (int k = 0; k < n; ++k) {
      const int peer = wrap(rank + k, n);
      plan.pull(peer, input_range({rank * count, count}),
                output_range({peer * count, count}), 1);
    }
  });
}

}  // namespace rondo
