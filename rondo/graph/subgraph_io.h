// Parts of graphs as bytes, for other processes.
#pragma once

#include <string>

#include "rondo/graph/subgraph.h"

namespace rondo {

// A GraphDef of what the subgraph needs, in an order in which from_graph_def
// can make the nodes, whatever passes have done to it. Throws when it would be
// larger than protobuf allows (2 GB).
RONDO_API std::string to_graph_def(const Subgraph& subgraph);

// A GraphDef of the graph's nodes from the one with number `first` on, for
// import_graph_def into a graph that has the nodes before.
RONDO_API std::string to_graph_def_from(const Graph& graph, size_t first);

}  // namespace rondo
