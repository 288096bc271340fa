// Star: all ranks send their vector to rank 0, the driver, which adds them up
// and sends the result back. Blocks of the result leave while later ones still
// arrive. Blocks are small: the driver's link has to take one of everybody
// before the first can leave, and is idle in the other direction meanwhile.
// And they come in order: each stream has a long queue at the driver's link,
// and a block that is missing on one of them would hold up all that are there.
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan star_allreduce(const AllreduceArgs& args) {
  if (args.n == 1) return lone_allreduce(args.count, args.in_place);
  Plan plan;
  plan.block_bytes = kStarBlockBytes;
  plan.in_order = true;
  Part whole{0, args.count};
  if (args.rank != 0) {
    plan.send(0, input_range(whole), 0);
    // In place this overwrites what is being sent, with what was made from it.
    plan.recv(0, output_range(whole), 1);
    return plan;
  }
  // One peer after the other, block by block: the order of the additions does
  // not depend on who is fast.
  int added = recv_and_add(plan, 1, whole, args.in_place, 0);
  for (int r = 2; r < args.n; ++r) {
    added = plan.recv_reduce(r, output_range(whole), 0, added);
  }
  int finished = plan.finish(output_range(whole), 0, added);
  for (int r = 1; r < args.n; ++r) {
    plan.send(r, output_range(whole), 1, finished);
  }
  return plan;
}

}  // namespace rondo
