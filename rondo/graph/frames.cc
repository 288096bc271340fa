#include "rondo/graph/frames.h"

namespace rondo {

int Frames::of(const Node& node) {
  while (of_.size() <= static_cast<size_t>(node.id()))
    of_.push_back(frame_after(*graph_.nodes()[of_.size()]));
  return of_[static_cast<size_t>(node.id())];
}

bool Frames::is_within(int frame, int outer) const {
  while (frame != outer && frame != 0)
    frame = frames_[static_cast<size_t>(frame)].parent;
  return frame == outer;
}

// A node is where what it takes is; the edges that close loops, which come from
// nodes made later, lead to where the others do.
int Frames::frame_after(const Node& node) {
  int frame = 0;
  auto look = [&](const Node* before) {
    if (before->id() >= node.id()) return false;
    frame = of_[static_cast<size_t>(before->id())];
    return true;
  };
  bool found = false;
  for (const Value& input : node.inputs()) found = found || look(input.node);
  for (const Node* before : node.control_inputs())
    found = found || look(before);
  if (node.op().name == "Enter")
    return entered(frame, node.attrs().get<std::string>("frame_name"));
  if (node.op().name == "Exit")
    return frames_[static_cast<size_t>(frame)].parent;
  return frame;
}

int Frames::entered(int parent, const std::string& name) {
  for (size_t i = 1; i < frames_.size(); ++i)
    if (frames_[i].parent == parent && frames_[i].name == name)
      return static_cast<int>(i);
  frames_.push_back({parent, name});
  return static_cast<int>(frames_.size() - 1);
}

}  // namespace rondo
