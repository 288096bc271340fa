#include "rondo/graph/subgraph.h"

#include <algorithm>
#include <unordered_map>

#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

// Depth first without recursion: graphs may be deep.
template <class Visit>
void walk_back(std::vector<Node*> from, size_t nodes, Visit inputs_of) {
  std::vector<bool> seen(nodes);
  for (Node* node : from) seen[static_cast<size_t>(node->id())] = true;
  while (!from.empty()) {
    Node* node = from.back();
    from.pop_back();
    inputs_of(node, [&](Node* before) {
      auto mark = seen[static_cast<size_t>(before->id())];
      if (mark) return;
      seen[static_cast<size_t>(before->id())] = true;
      from.push_back(before);
    });
  }
}

std::vector<Node*> roots_of(std::span<const Value> fetches,
                            std::span<Node* const> targets) {
  std::vector<Node*> roots(targets.begin(), targets.end());
  for (const Value& fetch : fetches) roots.push_back(fetch.node);
  return roots;
}

bool closes_loop(const Node& node) { return node.op().name == "NextIteration"; }

}  // namespace

Subgraph extract(const Graph& graph, std::span<const Value> feeds,
                 std::span<const Value> fetches,
                 std::span<Node* const> targets) {
  auto is_fed = [&](const Value& value) {
    return std::find(feeds.begin(), feeds.end(), value) != feeds.end();
  };
  for (size_t i = 0; i < feeds.size(); ++i)
    if (std::find(feeds.begin(), feeds.begin() + static_cast<ptrdiff_t>(i),
                  feeds[i]) != feeds.begin() + static_cast<ptrdiff_t>(i))
      throw Error(Code::kInvalidArgument,
                  fmt::format("\"{}\" is fed twice", feeds[i].name()));
  std::vector<Node*> roots(targets.begin(), targets.end());
  for (const Value& fetch : fetches)
    if (!is_fed(fetch)) roots.push_back(fetch.node);
  std::vector<bool> wanted(graph.nodes().size());
  walk_back(roots, graph.nodes().size(), [&](Node* node, auto visit) {
    wanted[static_cast<size_t>(node->id())] = true;
    for (const Value& input : node->inputs())
      if (!is_fed(input)) visit(input.node);
    for (Node* before : node->control_inputs()) visit(before);
  });
  Subgraph part;
  part.graph = graph.clone_of(wanted);
  auto twin = [&](const Node* node) { return part.graph->find(node->name()); };
  for (const Value& feed : feeds) {
    Node& node = part.graph->add(
        {.op = "Placeholder",
         .attrs = {{"dtype", feed.dtype()}, {"shape", feed.shape()}},
         .name = "feed/" + feed.node->name()});
    part.feeds.push_back(node.output());
  }
  auto moved = [&](const Value& value) -> Value {
    const auto at = std::find(feeds.begin(), feeds.end(), value);
    if (at != feeds.end())
      return part.feeds[static_cast<size_t>(at - feeds.begin())];
    return {twin(value.node), value.index};
  };
  for (const auto& node : graph.nodes()) {
    if (!wanted[static_cast<size_t>(node->id())]) continue;
    for (size_t i = 0; i < node->inputs().size(); ++i)
      twin(node.get())
          ->set_input(static_cast<int>(i), moved(node->inputs()[i]));
    if (node->op().name == "Placeholder")
      throw Error(
          Code::kInvalidArgument,
          fmt::format("{} must be fed: give it a value of {}{}",
                      node->describe(), name_of(node->outputs()[0].dtype),
                      node->outputs()[0].shape.to_string()));
  }
  for (const Value& fetch : fetches) part.fetches.push_back(moved(fetch));
  for (Node* target : targets) part.targets.push_back(twin(target));
  return part;
}

std::vector<Node*> ordered_nodes(const Subgraph& part) {
  const size_t count = part.graph->nodes().size();
  std::vector<Node*> needed;
  std::vector<int> waits_for(count, -1);
  std::vector<std::vector<Node*>> after(count);
  auto add = [&](Node* node) {
    if (waits_for[static_cast<size_t>(node->id())] >= 0) return;
    waits_for[static_cast<size_t>(node->id())] = 0;
    needed.push_back(node);
  };
  for (Node* root : roots_of(part.fetches, part.targets)) add(root);
  for (size_t i = 0; i < needed.size(); ++i) {
    Node* node = needed[i];
    auto edge = [&](Node* before) {
      add(before);
      if (closes_loop(*before)) return;
      ++waits_for[static_cast<size_t>(node->id())];
      after[static_cast<size_t>(before->id())].push_back(node);
    };
    for (const Value& input : node->inputs()) edge(input.node);
    for (Node* before : node->control_inputs()) edge(before);
  }
  std::vector<Node*> ready;
  // In the order of creation as far as dependencies leave a choice.
  std::sort(needed.begin(), needed.end(),
            [](const Node* a, const Node* b) { return a->id() > b->id(); });
  for (Node* node : needed)
    if (waits_for[static_cast<size_t>(node->id())] == 0) ready.push_back(node);
  std::vector<Node*> order;
  while (!ready.empty()) {
    Node* node = ready.back();
    ready.pop_back();
    order.push_back(node);
    auto& next = after[static_cast<size_t>(node->id())];
    for (auto at = next.rbegin(); at != next.rend(); ++at)
      if (--waits_for[static_cast<size_t>((*at)->id())] == 0)
        ready.push_back(*at);
  }
  if (order.size() == needed.size()) return order;
  std::string names;
  for (Node* node : needed)
    if (waits_for[static_cast<size_t>(node->id())] > 0 && names.size() < 200)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", node->name());
  throw Error(Code::kInvalidArgument,
              fmt::format("the graph has a cycle among: {}", names));
}

}  // namespace rondo
