// The nodes of a graph in the order of their edges, and the loops around them.
#pragma once

#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct NodeOrder {
  // Each after all it takes or waits for, but for the edges that close loops.
  std::vector<const Node*> nodes;
  // By node id: how many loops it is within, and the outermost of them, as the
  // id of one of its Enter nodes; -1: none. What leaves a loop counts as in it.
  std::vector<int> depth;
  std::vector<int> loop;
};

// Fails when there is a cycle besides the loops.
Result<NodeOrder> order_nodes(const Graph& graph);

}  // namespace rondo
