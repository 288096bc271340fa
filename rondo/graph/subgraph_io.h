// Parts of graphs as bytes, for other processes.
#pragma once

#include <string>
#include <string_view>

#include "rondo/graph/subgraph.h"

namespace rondo {

// A GraphDef of what the subgraph needs, in an order in which from_graph_def
// can make the nodes, whatever passes have done to it. Throws when it would be
// larger than protobuf allows (2 GB).
RONDO_API std::string to_graph_def(const Subgraph& subgraph);

// A GraphDef of the graph's nodes from the one with number `first` on, for
// extend_graph.
RONDO_API std::string to_graph_def_from(const Graph& graph, size_t first);
// Adds such nodes to a graph that has those before. Throws when they make no
// sense, and may then have added some; those that are there are not added again
// when the same ones come once more.
RONDO_API void extend_graph(Graph& graph, size_t first, std::string_view bytes);

}  // namespace rondo
