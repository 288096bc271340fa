// StepFlow: in which loop each node of a step runs, and which nodes a branch
// may leave out.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// Of the nodes as they were when it was made. Loops are numbered; 0 is outside
// of all.
class StepFlow {
 public:
  // `order`: the step's nodes, each after all it depends on but for the edges
  // that close loops; `nodes`: how many its graph has.
  StepFlow(const std::vector<Node*>& order, size_t nodes);

  // Whether the node may be dead where others run.
  bool may_be_dead(const Node& node) const { return at(node).may_be_dead; }

  // Nodes of one loop, of which each of `after` may wait for each of `before`.
  struct Sides {
    std::vector<Node*> before;
    std::vector<Node*> after;
  };
  // How `after` can be made to run after `before` when they belong to different
  // loops: what enters the one waits for what leaves the other.
  Sides sides(Node& before, Node& after) const;

 private:
  struct Place {
    int loop = 0;  // where its outputs are
    bool may_be_dead = false;
  };
  struct Loop {
    int around = 0;
    int depth = 0;
    bool may_be_dead = false;   // as a whole
    std::vector<Node*> enters;  // but for constants
    std::vector<Node*> exits;
  };

  const Place& at(const Node& node) const {
    return places_[static_cast<size_t>(node.id())];
  }
  Loop& loop(int number) { return loops_[static_cast<size_t>(number)]; }
  const Loop& loop(int number) const {
    return loops_[static_cast<size_t>(number)];
  }
  Place inputs_of(const Node& node) const;
  int entered(const Node& enter, int around);

  std::vector<Place> places_;  // by node id
  std::vector<bool> placed_;
  std::vector<Loop> loops_{1};
  std::map<std::pair<int, std::string>, int> by_name_;
};

}  // namespace rondo
