// Element-wise nodes that feed each other, as one node that goes over memory
// once.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"
#include "rondo/graph/passes/uses.h"

namespace rondo {
namespace {

constexpr size_t kMostSteps = 16;
constexpr size_t kMostInputs = 8;

// Sorted.
constexpr std::array<std::string_view, 31> kFusible = {
    "Abs",      "Add",      "AddN",        "Cos",
    "Div",      "Elu",      "EluGrad",     "Exp",
    "Gelu",     "GeluGrad", "LeakyRelu",   "LeakyReluGrad",
    "Log",      "Log1p",    "Maximum",     "Minimum",
    "Mul",      "Neg",      "Relu",        "ReluGrad",
    "Rsqrt",    "Sigmoid",  "SigmoidGrad", "Sin",
    "Softplus", "Sqrt",     "Square",      "SquaredDifference",
    "Sub",      "Tanh",     "TanhGrad"};

bool is_fusible(const Node& node) {
  const TensorType& type =
      node.outputs().empty() ? TensorType{DType::kBool} : node.outputs()[0];
  return std::ranges::binary_search(kFusible, node.op().name) &&
         contains(TypeSet::kFloat, type.dtype) && type.shape.has_rank();
}

// The nodes that become one: `root` makes the result, each of the others is
// taken by members only.
class Chain {
 public:
  Chain(const Uses& uses, Node& root) : uses_(uses) {
    add(root);
    for (size_t i = 0; i < members_.size(); ++i)
      for (const Value& input : members_[i]->inputs())
        if (may_join(*input.node)) add(*input.node);
    // From the first to the last, as a step would run them.
    std::ranges::sort(members_, {}, [&](Node* n) { return uses.place(*n); });
  }

  const std::vector<Node*>& members() const { return members_; }
  bool worthwhile() const { return members_.size() > 1; }

  Value make(Subgraph& part) {
    Node& root = *members_.back();
    for (Node* node : members_) write(*node);
    Node& made = part.graph->add({.op = "FusedElementwise",
                                  .inputs = inputs_,
                                  .attrs = {{"program", program()}},
                                  .name = "fused/" + root.name(),
                                  .origin = root.origin()});
    made.set_device(root.device());
    return made.output();
  }

 private:
  bool has(const Node* node) const {
    return std::ranges::find(members_, node) != members_.end();
  }
  void add(Node& node) {
    // It was a leaf itself, unless it is the first.
    leaves_ += node.inputs().size() - (members_.empty() ? 0 : 1);
    members_.push_back(&node);
    steps_ += node.op().name == "AddN" ? node.inputs().size() : 1;
  }
  bool may_join(const Node& node) const {
    const Node& root = *members_.front();
    if (has(&node) || !is_fusible(node) || !uses_.inner(node)) return false;
    if (node.device() != root.device() ||
        node.outputs()[0].dtype != root.outputs()[0].dtype ||
        !(node.outputs()[0].shape == root.outputs()[0].shape))
      return false;
    const size_t steps =
        node.op().name == "AddN" ? node.inputs().size() : size_t{1};
    if (steps_ + steps > kMostSteps ||
        leaves_ + node.inputs().size() - 1 > kMostInputs)
      return false;
    return std::ranges::all_of(uses_.takers(node),
                               [&](const Node* taker) { return has(taker); });
  }

  // Where the program finds a value: an input, or what a step left.
  std::string slot(const Value& value) {
    if (const auto at = made_.find(value.node); at != made_.end())
      return at->second;
    auto at = std::ranges::find(inputs_, value);
    if (at == inputs_.end()) at = inputs_.insert(inputs_.end(), value);
    return fmt::format("x{}", at - inputs_.begin());
  }
  std::string step(std::string text) {
    lines_.push_back(std::move(text));
    return fmt::format("t{}", lines_.size() - 1);
  }
  void write(const Node& node) {
    std::string op(node.op().name);
    if (op == "AddN") {
      std::string sum = slot(node.input(0));
      for (size_t i = 1; i < node.inputs().size(); ++i)
        sum = step(fmt::format("Add {} {}", sum, slot(node.inputs()[i])));
      made_[&node] = sum;
      return;
    }
    const AttrValue* tanh = node.attrs().find("approximate");
    if (tanh && std::get<bool>(*tanh))
      op = op == "Gelu" ? "GeluTanh" : "GeluTanhGrad";
    if (const AttrValue* alpha = node.attrs().find("alpha"))
      op += fmt::format(":{}", std::get<double>(*alpha));
    for (const Value& input : node.inputs())
      op += fmt::format(" {}", slot(input));
    made_[&node] = step(std::move(op));
  }
  std::string program() const {
    return fmt::format("{}", fmt::join(lines_, "; "));
  }

  const Uses& uses_;
  std::vector<Node*> members_;
  size_t leaves_ = 0;
  size_t steps_ = 0;
  std::vector<Value> inputs_;
  std::vector<std::string> lines_;
  std::unordered_map<const Node*, std::string> made_;
};

}  // namespace

void fuse_chains(Subgraph& part) {
  const Uses uses(part);
  Redirect redirect;
  std::vector<bool> taken(part.graph->nodes().size());
  // From the last to the first, so that a chain starts at its end.
  for (auto at = uses.order().rbegin(); at != uses.order().rend(); ++at) {
    Node& root = **at;
    if (taken[static_cast<size_t>(root.id())] || !is_fusible(root) ||
        uses.bound(root))
      continue;
    Chain chain(uses, root);
    if (!chain.worthwhile()) continue;
    for (const Node* node : chain.members())
      taken[static_cast<size_t>(node->id())] = true;
    redirect.add(root.output(), chain.make(part));
  }
  redirect.apply(part);
}

}  // namespace rondo
