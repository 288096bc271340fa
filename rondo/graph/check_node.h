// What a new node is checked for, and what follows for its outputs.
#pragma once

#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// Checks inputs and attributes of `node` against its operation, fills in the
// attributes that have a default, and infers the outputs.
Result<std::vector<TensorType>> check_node(const Graph& graph, const Node& node,
                                           Attrs& attrs);

}  // namespace rondo
