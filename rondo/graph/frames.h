// Frames: which loop each node of a graph belongs to.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// A frame is a loop: its name and the frame around it; 0 is outside of every
// loop. What enters a loop belongs to it, what leaves it does not. Nodes that
// the graph got since are looked at when they are asked for.
class Frames {
 public:
  explicit Frames(const Graph& graph) : graph_(graph) {}

  int of(const Node& node);
  // Whether `frame` is `outer` or a loop within it.
  bool is_within(int frame, int outer) const;

 private:
  struct Frame {
    int parent;
    std::string name;
  };
  int frame_after(const Node& node);
  int entered(int parent, const std::string& name);

  const Graph& graph_;
  std::vector<Frame> frames_{{0, ""}};
  std::vector<int> of_;  // by node id
};

}  // namespace rondo
