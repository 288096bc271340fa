// Naive: everyone sends its whole input to everyone and adds up what arrives.
//
// All ranks add in the order of the ranks, so that all get the same bits. In
// place, the vector must stay as it is until it has been sent to everybody; the
// sum is then made in scratch, segment by segment, and copied over.
#include <algorithm>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {
namespace {

// Adds segment `part` of all ranks up in `sum`; returns the last action.
int add_all(Plan& plan, const AllreduceArgs& args, Part part, Range sum) {
  int added = args.rank == 0 ? plan.copy(input_range(part), sum, 0)
                             : plan.recv(0, sum, 0);
  for (int r = 1; r < args.n; ++r) {
    added = args.rank == r ? plan.reduce(input_range(part), sum, 0, added)
                           : plan.recv_reduce(r, sum, 0, added);
  }
  return plan.finish(sum, 0, added);
}

}  // namespace

Plan naive_allreduce(const AllreduceArgs& args) {
  if (args.n == 1) return lone_allreduce(args.count, args.in_place);
  Plan plan;
  if (args.in_place) plan.scratch = std::min(args.count, args.scratch);
  for (Part part : segments_of(args.count, args.scratch)) {
    if (args.in_place && part.offset > 0) plan.join();
    for (int k = 1; k < args.n; ++k) {
      plan.send(wrap(args.rank + k, args.n), input_range(part), 0);
    }
    if (!args.in_place) {
      add_all(plan, args, part, output_range(part));
      continue;
    }
    Range sum = scratch_range({0, part.count});
    add_all(plan, args, part, sum);
    plan.join();
    plan.copy(sum, output_range(part), 0);
  }
  return plan;
}

}  // namespace rondo
