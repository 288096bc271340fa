#include "rondo/graph/placement/colocation.h"

#include <map>
#include <unordered_map>

#include "rondo/graph/placement/resources.h"

namespace rondo {
namespace {

constexpr double kSmallConstant = 4096;  // bytes

}  // namespace

bool is_copied_constant(const Node& node) {
  return node.op().name == "Const" && node.control_inputs().empty() &&
         bytes_of(node.outputs()[0]) <= kSmallConstant;
}

bool is_small_constant(const Node& node) {
  return is_copied_constant(node) && node.device().empty() &&
         node.colocated_with().empty();
}

Colocation::Colocation(const Graph& graph, const NodeOrder& order)
    : ties_(graph.nodes().size()), graph_(graph) {
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    parent_.push_back(static_cast<int>(i));
  join_resources(graph);
  join_classes(graph);
  join_loops(graph, order);
  join_constants(graph);
}

int Colocation::group_of(int node) const {
  auto at = static_cast<size_t>(node);
  while (parent_[at] != static_cast<int>(at)) {
    parent_[at] = parent_[static_cast<size_t>(parent_[at])];
    at = static_cast<size_t>(parent_[at]);
  }
  return static_cast<int>(at);
}

void Colocation::join(int node, int to, std::string because, bool follows) {
  const int a = group_of(node), b = group_of(to);
  if (a == b) return;
  parent_[static_cast<size_t>(a)] = b;
  // A node has one tie; that of a group's first member may stay open, and is
  // then told by the one that joined it.
  Tie& tie = ties_[static_cast<size_t>(node)];
  Tie& other = ties_[static_cast<size_t>(to)];
  const auto at = [&](int id) {
    return graph_.nodes()[static_cast<size_t>(id)].get();
  };
  if (!tie.to)
    tie = {at(to), std::move(because), follows};
  else if (!other.to)
    other = {at(node), std::move(because), false};
}

void Colocation::join_resources(const Graph& graph) {
  struct Keeper {
    int node;
    bool owner;
  };
  std::map<std::string, Keeper> keepers;
  const auto for_each_use = [&](auto f) {
    for (const auto& node : graph.nodes())
      for (const ResourceUse& use : resources_of_node(*node))
        if (!use.task_only) f(node->id(), use, to_string(use));
  };
  for_each_use([&](int node, const ResourceUse& use, const std::string& key) {
    if (use.owner) keepers.emplace(key, Keeper{node, true});
  });
  for_each_use([&](int node, const ResourceUse& use, const std::string& key) {
    // Where nobody is its owner, as of a queue, the first one counts.
    const bool says = use.kind != "variable";
    const auto [at, fresh] = keepers.emplace(key, Keeper{node, says});
    if (!fresh)
      join(node, at->second.node, "the same " + key, at->second.owner);
  });
  // The numbers that NewStack gives are of its device.
  for (const auto& node : graph.nodes())
    for (const Value& input : node->inputs())
      if (input.node->op().name == "NewStack")
        join(input.node->id(), node->id(), "its stack is kept there");
}

void Colocation::join_classes(const Graph& graph) {
  // A node that others name may be missing from a part of the graph; they are
  // together all the same.
  std::unordered_map<std::string, int> first;
  for (const auto& node : graph.nodes()) {
    for (const std::string& name : node->colocated_with()) {
      const Node* named = graph.find(name);
      const int to =
          first.emplace(name, named ? named->id() : node->id()).first->second;
      join(node->id(), to, fmt::format("colocate_with \"{}\"", name));
    }
  }
}

void Colocation::join_loops(const Graph& graph, const NodeOrder& order) {
  for (const auto& node : graph.nodes()) {
    const auto id = static_cast<size_t>(node->id());
    if (order.loop[id] < 0) continue;
    const auto& enter = *graph.nodes()[static_cast<size_t>(order.loop[id])];
    join(node->id(), enter.id(),
         fmt::format("the same loop \"{}\"",
                     enter.attrs().get<std::string>("frame_name")));
  }
}

void Colocation::join_constants(const Graph& graph) {
  std::vector<bool> done(graph.nodes().size());
  for (const auto& node : graph.nodes())
    for (const Value& input : node->inputs()) {
      const auto id = static_cast<size_t>(input.node->id());
      if (done[id] || !is_small_constant(*input.node)) continue;
      done[id] = true;
      join(input.node->id(), node->id(), "a small constant, beside its user");
    }
}

}  // namespace rondo
