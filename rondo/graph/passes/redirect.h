// Redirect: gathers which values stand in for others, then puts them there.
#pragma once

#include <map>

#include "rondo/graph/subgraph.h"

namespace rondo {

class Redirect {
 public:
  void add(Value from, Value to) { to_[key(from)] = to; }
  // What stands in for `value`, following chains.
  Value operator()(Value value) const {
    for (auto at = to_.find(key(value)); at != to_.end();
         at = to_.find(key(value)))
      value = at->second;
    return value;
  }
  // Inputs of all nodes, and the fetches.
  void apply(Subgraph& subgraph) const {
    for (const auto& node : subgraph.graph->nodes()) redirect_inputs(*node);
    for (Value& fetch : subgraph.fetches) fetch = (*this)(fetch);
  }
  void redirect_inputs(Node& node) const {
    for (size_t i = 0; i < node.inputs().size(); ++i)
      node.set_input(static_cast<int>(i), (*this)(node.inputs()[i]));
  }

 private:
  using Key = std::pair<int, int>;
  static Key key(const Value& v) { return {v.node->id(), v.index}; }
  std::map<Key, Value> to_;
};

}  // namespace rondo
