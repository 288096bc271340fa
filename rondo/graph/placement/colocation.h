// Colocation: which nodes of a graph have to be on one device.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/placement/loops.h"

namespace rondo {

// Why a node is where another is.
struct Tie {
  const Node* to = nullptr;  // nullptr: it is the first of its group
  std::string because;       // "the same variable \"w\""
  // Whether `to` says where, and the node's own wish gives way: a node that
  // changes a variable, to the Variable.
  bool follows = false;
};

// Nodes that are joined, directly or through others, are a group. Nodes are
// named by their ids.
class Colocation {
 public:
  Colocation(const Graph& graph, const NodeOrder& order);

  // The number of the group that it has been joined to: one of its nodes.
  int group_of(int node) const;
  void join(int node, int to, std::string because, bool follows = false);
  const Tie& tie(int node) const { return ties_[static_cast<size_t>(node)]; }

 private:
  void join_resources(const Graph& graph);
  void join_classes(const Graph& graph);
  void join_loops(const Graph& graph, const NodeOrder& order);
  void join_constants(const Graph& graph);

  mutable std::vector<int> parent_;
  std::vector<Tie> ties_;
  const Graph& graph_;
};

// A constant that is better made again than sent: who cuts the graph is to give
// each device that uses it a copy.
RONDO_API bool is_copied_constant(const Node& node);
// One that asks for no device besides: placement puts it beside one of its
// users and counts nothing for the others.
RONDO_API bool is_small_constant(const Node& node);

}  // namespace rondo
