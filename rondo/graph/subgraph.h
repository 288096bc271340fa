// Subgraph: the part of a graph that one kind of step needs, as a graph of its
// own that passes may change.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct Subgraph {
  std::unique_ptr<Graph> graph;
  // Placeholders of `graph`, one for each value that is fed.
  std::vector<Value> feeds;
  // Values of `graph` to hand out, and nodes that only have to run.
  std::vector<Value> fetches;
  std::vector<Node*> targets;
};

// The nodes from which fetches and targets follow, up to what is fed. A fed
// value becomes a Placeholder of its own. Throws when a feed is given twice, or
// when a placeholder is needed and not fed.
RONDO_API Subgraph extract(const Graph& graph, std::span<const Value> feeds,
                           std::span<const Value> fetches,
                           std::span<Node* const> targets);

// The nodes that fetches and targets need, each after all it depends on but for
// the edges that close loops (NextIteration). Throws when there is a cycle
// besides, and names its nodes.
RONDO_API std::vector<Node*> ordered_nodes(const Subgraph& subgraph);

struct OrderOptions {
  // Whether a change also waits for those that take a variable's value, or only
  // for the nodes that read it. Who has a value keeps it; a change makes a copy
  // then.
  bool users = true;
};
// Adds control edges so that within a step each change of a variable comes
// after all that uses its value before, unless that itself waits for the
// change, or for something, such as an element of a queue, that the change does
// not wait for.
RONDO_API void order_changes(Subgraph& subgraph,
                             const OrderOptions& options = {});

}  // namespace rondo
