#include "rondo/trainer/not_finite_origin.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "rondo/kernels/cpu/dispatch.h"

namespace rondo {
namespace {

// What a value's numbers are, the worse the greater.
enum class Kind { kFinite, kInfinite, kNaN };

Kind kind_of(const Tensor& tensor) {
  if (!contains(TypeSet::kFloat, tensor.dtype())) return Kind::kFinite;
  return dispatch_float(tensor.dtype(), [&]<class T>() {
    Kind worst = Kind::kFinite;
    for (const T& element : tensor.span<T>()) {
      const auto number = load(element);
      if (std::isnan(number)) return Kind::kNaN;
      if (std::isinf(number)) worst = Kind::kInfinite;
    }
    return worst;
  });
}

using Kinds = std::map<std::pair<int, int>, Kind>;  // by node and output

Kind kind_of(const Kinds& kinds, Value value) {
  const auto found = kinds.find({value.node->id(), value.index});
  return found == kinds.end() ? Kind::kFinite : found->second;
}

bool is_fed(const Node* node, const std::vector<Feed>& feeds) {
  return std::ranges::any_of(
      feeds, [&](const Feed& feed) { return feed.value.node == node; });
}

// Ids of the nodes that it is computed from, without those that are fed.
std::set<int> needed_for(Value value, const std::vector<Feed>& feeds) {
  std::set<int> needed;
  std::vector<Node*> open = {value.node};
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    if (is_fed(node, feeds) || !needed.insert(node->id()).second) continue;
    for (const Value& input : node->inputs()) open.push_back(input.node);
  }
  return needed;
}

// Back along the worst inputs of each node: an infinity that its taker makes a
// number of, a mask's, is no fault, and one beside a NaN explains nothing.
const Node* origin(Value value, const Kinds& kinds,
                   const std::vector<Feed>& feeds) {
  std::set<int> seen;
  std::vector<Node*> open = {value.node};
  const Node* first = nullptr;
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    if (!seen.insert(node->id()).second) continue;
    Kind worst = Kind::kFinite;
    const auto inputs =
        is_fed(node, feeds) ? std::vector<Value>() : node->inputs();
    for (const Value& input : inputs)
      worst = std::max(worst, kind_of(kinds, input));
    if (worst == Kind::kFinite) {
      if (first == nullptr || node->id() < first->id()) first = node;
      continue;
    }
    for (const Value& input : inputs)
      if (kind_of(kinds, input) == worst) open.push_back(input.node);
  }
  return first;
}

}  // namespace

Result<const Node*> not_finite_origin(Session& session, Value value,
                                      const std::vector<Feed>& feeds) {
  std::vector<Value> fetches;
  for (const int id : needed_for(value, feeds)) {
    Node& node = *value.graph().nodes()[static_cast<size_t>(id)];
    for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i)
      if (contains(TypeSet::kFloat, node.output(i).dtype()))
        fetches.push_back(node.output(i));
  }
  RONDO_ASSIGN_OR_RETURN(const std::vector<Tensor> found,
                         session.run(fetches, feeds));
  Kinds kinds;
  for (const Feed& feed : feeds)
    kinds[{feed.value.node->id(), feed.value.index}] = kind_of(feed.tensor);
  for (size_t i = 0; i < found.size(); ++i)
    kinds[{fetches[i].node->id(), fetches[i].index}] = kind_of(found[i]);
  if (kind_of(kinds, value) == Kind::kFinite) return nullptr;
  return origin(value, kinds, feeds);
}

}  // namespace rondo
