// Reduce along a binomial tree. A node's number v is its rank relative to the
// root.
//
// Only the root has an output: the nodes between root and leaves make their
// sums in scratch, which every segment uses again. A segment's first block is
// stored there when the last segment's first block has left, and so on; the
// last segment, if it is shorter, has a place of its own, because its blocks
// are not those of the others.
#include <algorithm>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"
#include "rondo/collectives/tree.h"

namespace rondo {

Plan tree_reduce(int n, int rank, int root, int64_t count, bool in_place,
                 int64_t segment) {
  if (n == 1) return lone_allreduce(count, in_place);
  Plan plan;
  const int v = wrap(rank - root, n);
  const std::vector<int> children = tree_children(n, v);
  const bool inner = v != 0 && !children.empty();
  const int levels = static_cast<int>(children.size());
  if (inner) {
    plan.scratch = count <= segment ? count : segment + count % segment;
  }

  int last_sent = -1;
  for (Part part : segments_of(count, segment)) {
    const bool shorter = part.offset > 0 && part.count < segment;
    Range sum = inner ? scratch_range({shorter ? segment : 0, part.count})
                      : output_range(part);
    int ready = -1;
    for (int level = 0; level < levels; ++level) {
      int peer = wrap(children[level] + root, n);
      if (level > 0) {
        ready = plan.recv_reduce(peer, sum, level, ready);
      } else if (inner) {
        int left = shorter ? -1 : last_sent;
        ready = plan.recv(peer, sum, level, left);
        ready = plan.reduce(input_range(part), sum, level, ready);
      } else {
        ready = recv_and_add(plan, peer, part, in_place, level);
      }
    }
    if (v == 0) {
      plan.finish(sum, levels - 1, ready);
    } else {
      last_sent =
          plan.send(wrap(tree_parent(v) + root, n),
                    inner ? sum : input_range(part), tree_level(v), ready);
    }
  }
  return plan;
}

}  // namespace rondo
