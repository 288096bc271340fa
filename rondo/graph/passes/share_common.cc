#include <algorithm>
#include <unordered_map>

#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"

namespace rondo {
namespace {

bool may_share(const Node& node) {
  return node.op().kind == OpKind::kPure && node.op().name != "Merge" &&
         node.op().name != "NextIteration";
}

// Equal for nodes that compute the same; others may collide.
size_t hash_of(const Node& node) {
  size_t hash = std::hash<std::string_view>()(node.op().name);
  auto mix = [&](size_t x) { hash = hash * 1000003 + x; };
  for (const Value& input : node.inputs()) {
    mix(static_cast<size_t>(input.node->id()));
    mix(static_cast<size_t>(input.index));
  }
  if (const AttrValue* value = node.attrs().find("value"))
    if (const Tensor* tensor = std::get_if<Tensor>(value)) mix(tensor->bytes());
  return hash;
}

bool computes_the_same(const Node& a, const Node& b) {
  auto sorted = [](std::vector<Node*> nodes) {
    std::ranges::sort(nodes);
    return nodes;
  };
  return &a.op() == &b.op() && a.inputs() == b.inputs() &&
         a.device() == b.device() && a.colocated_with() == b.colocated_with() &&
         sorted(a.control_inputs()) == sorted(b.control_inputs()) &&
         a.attrs() == b.attrs();
}

}  // namespace

void share_common(Subgraph& part) {
  Redirect redirect;
  std::unordered_multimap<size_t, Node*> seen;
  for (Node* node : ordered_nodes(part)) {
    redirect.redirect_inputs(*node);
    if (!may_share(*node)) continue;
    const size_t hash = hash_of(*node);
    Node* twin = nullptr;
    const auto [first, last] = seen.equal_range(hash);
    for (auto at = first; at != last && !twin; ++at)
      if (computes_the_same(*at->second, *node)) twin = at->second;
    if (!twin) {
      seen.emplace(hash, node);
      continue;
    }
    for (size_t i = 0; i < node->outputs().size(); ++i)
      redirect.add({node, static_cast<int>(i)}, {twin, static_cast<int>(i)});
  }
  redirect.apply(part);
}

}  // namespace rondo
