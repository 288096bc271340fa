// Uses: who takes the values of a step's nodes.
#pragma once

#include <algorithm>
#include <vector>

#include "rondo/graph/subgraph.h"

namespace rondo {

// As the subgraph was when this was made, of the nodes that are needed.
class Uses {
 public:
  explicit Uses(const Subgraph& part)
      : order_(ordered_nodes(part)),
        place_(part.graph->nodes().size()),
        takers_(part.graph->nodes().size()),
        fetched_(part.graph->nodes().size()),
        bound_(part.graph->nodes().size()) {
    for (size_t i = 0; i < order_.size(); ++i) {
      Node* node = order_[i];
      place_[id(node)] = i;
      for (const Value& input : node->inputs())
        takers_[id(input.node)].push_back(node);
      for (const Node* before : node->control_inputs()) bind(before);
      if (!node->control_inputs().empty()) bind(node);
    }
    for (const Value& fetch : part.fetches) fetched_[id(fetch.node)] = true;
    for (const Node* target : part.targets) bind(target);
  }

  const std::vector<Node*>& order() const { return order_; }
  // Where in order() a node is.
  size_t place(const Node& node) const { return place_[id(&node)]; }
  // The nodes that take an output of `node`, one that takes two twice.
  const std::vector<Node*>& takers(const Node& node) const {
    return takers_[id(&node)];
  }
  // Whether it is not enough to give others its values: it is to run, waits for
  // another, or is waited for.
  bool bound(const Node& node) const { return bound_[id(&node)]; }
  // Whether nobody needs anything of it but its takers.
  bool inner(const Node& node) const {
    return !bound(node) && !fetched_[id(&node)];
  }
  // The only one that takes anything of an inner node; nullptr: none or more.
  Node* only_taker(const Node& node) const {
    return inner(node) && takers(node).size() == 1 ? takers(node)[0] : nullptr;
  }

 private:
  static size_t id(const Node* node) { return static_cast<size_t>(node->id()); }
  void bind(const Node* node) { bound_[id(node)] = true; }

  std::vector<Node*> order_;
  // By node.
  std::vector<size_t> place_;
  std::vector<std::vector<Node*>> takers_;
  std::vector<bool> fetched_;
  std::vector<bool> bound_;
};

}  // namespace rondo
