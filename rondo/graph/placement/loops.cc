#include "rondo/graph/placement/loops.h"

#include <map>
#include <queue>

namespace rondo {
namespace {

size_t id_of(const Node* node) { return static_cast<size_t>(node->id()); }

template <class F>
void for_each_before(const Node& node, F f) {
  for (const Value& input : node.inputs())
    if (input.node->op().name != "NextIteration") f(input.node);
  for (const Node* before : node.control_inputs())
    if (before->op().name != "NextIteration") f(before);
}

// The loops that hold what a node gives, from the outside in: names of frames.
// Graphs have few loops, so a short list for each node does.
using Path = std::vector<std::string>;

void find_loops(NodeOrder& order) {
  std::vector<Path> after(order.depth.size());
  std::map<std::string, int> first_enter;
  for (const Node* node : order.nodes) {
    Path path;
    for_each_before(*node, [&](const Node* before) {
      if (after[id_of(before)].size() > path.size())
        path = after[id_of(before)];
    });
    if (node->op().name == "Enter")
      path.push_back(node->attrs().get<std::string>("frame_name"));
    if (!path.empty()) {
      order.depth[id_of(node)] = static_cast<int>(path.size());
      order.loop[id_of(node)] =
          first_enter.emplace(path[0], node->id()).first->second;
    }
    if (node->op().name == "Exit" && !path.empty()) path.pop_back();
    after[id_of(node)] = std::move(path);
  }
}

}  // namespace

Result<NodeOrder> order_nodes(const Graph& graph) {
  const size_t count = graph.nodes().size();
  NodeOrder order{{}, std::vector<int>(count), std::vector<int>(count, -1)};
  std::vector<int> waits_for(count);
  std::vector<std::vector<const Node*>> after(count);
  // The oldest first, so that the order is the program's where edges allow.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (const auto& node : graph.nodes()) {
    for_each_before(*node, [&](const Node* before) {
      ++waits_for[id_of(node.get())];
      after[id_of(before)].push_back(node.get());
    });
    if (waits_for[id_of(node.get())] == 0) ready.push(node->id());
  }
  while (!ready.empty()) {
    const Node* node = graph.nodes()[static_cast<size_t>(ready.top())].get();
    ready.pop();
    order.nodes.push_back(node);
    for (const Node* next : after[id_of(node)])
      if (--waits_for[id_of(next)] == 0) ready.push(next->id());
  }
  if (order.nodes.size() < count)
    for (const auto& node : graph.nodes())
      if (waits_for[id_of(node.get())] > 0)
        return error(Code::kInvalidArgument,
                     "the graph has a cycle through {}, so it cannot be placed",
                     node->describe());
  find_loops(order);
  return order;
}

}  // namespace rondo
