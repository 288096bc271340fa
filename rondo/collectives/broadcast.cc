// Broadcasts. A node's number v is its rank relative to the root.
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"
#include "rondo/collectives/tree.h"

namespace rondo {

Plan tree_broadcast(int n, int rank, int root, int64_t count) {
  Plan plan;
  const int v = wrap(rank - root, n);
  const int depth = tree_depth(n);
  const Range whole = output_range({0, count});
  int ready = -1;
  if (v != 0) {
    ready = plan.recv(wrap(tree_parent(v) + root, n), whole,
                      depth - 1 - tree_level(v));
  }
  // The largest subtree first: it has the longest way to go.
  const std::vector<int> children = tree_children(n, v);
  for (int level = static_cast<int>(children.size()) - 1; level >= 0; --level) {
    plan.send(wrap(children[level] + root, n), whole, depth - 1 - level, ready);
  }
  return plan;
}

// The vector is cut into n parts. In step 0 the root gives part v to node v;
// then node v passes its own part to node v+1, and after it each part that
// arrives from node v-1, up to part v+2: node v+1 has its own from the root.
// The root has all parts, so nobody sends to it, and it begins the ring with
// part 0.
Plan scatter_ring_broadcast(int n, int rank, int root, int64_t count) {
  Plan plan;
  const int v = wrap(rank - root, n);
  auto rank_of = [&](int node) { return wrap(node + root, n); };
  auto part = [&](int i) {
    return output_range(part_of(count, n, wrap(i, n)));
  };

  int ready = -1;
  if (v == 0) {
    for (int node = 1; node < n; ++node)
      plan.send(rank_of(node), part(node), 0);
  } else {
    ready = plan.recv(root, part(v), 0);
  }
  for (int s = 0; s < n - 1; ++s) {
    if (v < n - 1) plan.send(rank_of(v + 1), part(v - s), s + 1, ready);
    if (v > 0) ready = plan.recv(rank_of(v - 1), part(v - s - 1), s + 1);
  }
  return plan;
}

}  // namespace rondo
