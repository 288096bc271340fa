// Graphs as pictures: Graphviz's language.
#pragma once

#include <string>

#include "rondo/graph/graph.h"

namespace rondo {

// For `dot -Tsvg`: nodes within frames of their name scopes, data edges with
// type and shape, control edges dashed, and operations with state filled.
RONDO_API std::string to_dot(const Graph& graph);

}  // namespace rondo
