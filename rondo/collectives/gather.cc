// Gather and scatter: the root exchanges one message with every other rank, all
// at once.
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan linear_gather(int n, int rank, int root, std::span<const int64_t> counts) {
  Plan plan;
  const std::vector<Part> parts = parts_of(counts);
  const Range own = input_range({0, counts[rank]});
  if (rank != root) {
    plan.send(root, own, 0);
    return plan;
  }
  for (int k = 1; k < n; ++k) {
    int peer = wrap(root + k, n);
    plan.recv(peer, output_range(parts[peer]), 0);
  }
  plan.copy(own, output_range(parts[root]), 0);
  return plan;
}

Plan linear_scatter(int n, int rank, int root,
                    std::span<const int64_t> counts) {
  Plan plan;
  const std::vector<Part> parts = parts_of(counts);
  const Range own = output_range({0, counts[rank]});
  if (rank != root) {
    plan.recv(root, own, 0);
    return plan;
  }
  for (int k = 1; k < n; ++k) {
    int peer = wrap(root + k, n);
    plan.send(peer, input_range(parts[peer]), 0);
  }
  plan.copy(input_range(parts[root]), own, 0);
  return plan;
}

}  // namespace rondo
