// Allgather by the ring: in step s rank r sends part r-s to the next rank and
// receives part r-s-1 from the previous one (modulo n), which it passes on in
// the next step, block by block.
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan ring_allgather(int n, int rank, std::span<const int64_t> counts,
                    bool in_place) {
  Plan plan;
  const std::vector<Part> parts = parts_of(counts);
  const Part own = parts[rank];
  const Range own_input = input_range({0, own.count});
  int ready = -1;
  for (int s = 0; s < n - 1; ++s) {
    bool from_input = s == 0 && !in_place;
    plan.send(wrap(rank + 1, n),
              from_input ? own_input : output_range(parts[wrap(rank - s, n)]),
              s, ready);
    ready = plan.recv(wrap(rank - 1, n),
                      output_range(parts[wrap(rank - s - 1, n)]), s);
  }
  if (!in_place) plan.copy(own_input, output_range(own), 0);
  return plan;
}

}  // namespace rondo
