// Barrier by dissemination: in step k rank r tells r + 2^k that it has heard,
// directly or not, from the 2^k ranks before and including itself, and hears
// the same from r - 2^k. After ceil(log2 n) steps it has heard from all n. An
// empty message has no blocks that an `after` could order; joins do.
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan dissemination_barrier(int n, int rank) {
  Plan plan;
  int step = 0;
  for (int64_t distance = 1; distance < n; distance *= 2, ++step) {
    int d = static_cast<int>(distance);
    if (step > 0) plan.join();
    plan.send(wrap(rank + d, n), output_range({0, 0}), step);
    plan.recv(wrap(rank - d, n), output_range({0, 0}), step);
  }
  return plan;
}

}  // namespace rondo
