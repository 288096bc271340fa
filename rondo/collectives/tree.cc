// Tree: a reduction along a binomial tree to rank 0, then a broadcast along the
// same tree. A node adds its children's sums in turn, block by block, and
// passes each block on as soon as the last child's has been added.
#include "rondo/collectives/tree.h"

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"

namespace rondo {

Plan tree_allreduce(const AllreduceArgs& args) {
  if (args.n == 1) return lone_allreduce(args.count, args.in_place);
  const int depth = tree_depth(args.n);
  const int v = args.rank;
  const std::vector<int> children = tree_children(args.n, v);
  Part whole{0, args.count};
  Range sum = output_range(whole);

  Plan plan;
  int ready = -1;
  for (int level = 0; level < static_cast<int>(children.size()); ++level) {
    ready = level == 0
                ? recv_and_add(plan, children[0], whole, args.in_place, 0)
                : plan.recv_reduce(children[level], sum, level, ready);
  }
  if (v == 0) {
    ready = plan.finish(sum, depth - 1, ready);
  } else {
    int level = tree_level(v);
    plan.send(tree_parent(v), children.empty() ? input_range(whole) : sum,
              level, ready);
    // In place this overwrites what is being sent, with what was made from it.
    ready = plan.recv(tree_parent(v), sum, 2 * depth - 1 - level);
  }
  // The largest subtree first: it has the longest way to go.
  for (int level = static_cast<int>(children.size()) - 1; level >= 0; --level) {
    plan.send(children[level], sum, 2 * depth - 1 - level, ready);
  }
  return plan;
}

}  // namespace rondo
