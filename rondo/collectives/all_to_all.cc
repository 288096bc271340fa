// All-to-all by pairwise exchange: in step k rank r sends to r+k and receives
// from r-k (modulo n), so that in each step every rank is the target of one
// other. Step 0 is the rank's own block.
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan pairwise_all_to_all(int n, int rank, std::span<const int64_t> send_counts,
                         std::span<const int64_t> recv_counts) {
  Plan plan;
  const std::vector<Part> from = parts_of(send_counts);
  const std::vector<Part> to = parts_of(recv_counts);
  plan.copy(input_range(from[rank]), output_range(to[rank]), 0);
  for (int k = 1; k < n; ++k) {
    int next = wrap(rank + k, n);
    int previous = wrap(rank - k, n);
    plan.send(next, input_range(from[next]), k);
    plan.recv(previous, output_range(to[previous]), k);
  }
  return plan;
}

}  // namespace rondo
