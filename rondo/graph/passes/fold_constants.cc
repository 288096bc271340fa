#include <algorithm>
#include <optional>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"

namespace rondo {
namespace {

// Larger results are computed in each step: a graph of big zeros stays small.
constexpr size_t kMostBytes = 1 << 20;

// A constant that waits for something belongs to a branch or a loop.
bool is_constant(const Value& value) {
  return value.node->op().name == "Const" &&
         value.node->control_inputs().empty();
}

// The tensors of inputs that are all constants.
std::optional<std::vector<Tensor>> constant_inputs(const Node& node) {
  std::vector<Tensor> inputs;
  for (const Value& input : node.inputs()) {
    if (!is_constant(input)) return std::nullopt;
    inputs.push_back(input.node->attrs().get<Tensor>("value"));
  }
  return inputs;
}

// Extents that were known when the graph was built.
std::optional<Tensor> known_shape(const Node& node) {
  if (node.op().name != "Shape" || !node.input(0).shape().known())
    return std::nullopt;
  const auto extents = node.input(0).shape().extents();
  return Tensor::of<int64_t>({static_cast<int64_t>(extents.size())}, extents);
}

bool is_flow(const Node& node) {
  for (const std::string_view op :
       {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})
    if (node.op().name == op) return true;
  return false;
}

bool may_fold(const Node& node) {
  return node.op().kind == OpKind::kPure && node.op().name != "Const" &&
         !is_flow(node) && node.control_inputs().empty() &&
         !node.outputs().empty();
}

}  // namespace

void fold_constants(Subgraph& part, const Evaluate& evaluate) {
  Redirect redirect;
  const std::vector<Node*> order = ordered_nodes(part);
  const bool branches = std::ranges::any_of(order, [](const Node* node) {
    return node->op().name == "Switch" || node->op().name == "Enter";
  });
  for (Node* node : order) {
    redirect.redirect_inputs(*node);
    if (!may_fold(*node)) continue;
    std::vector<Tensor> results;
    Node* stays_with = nullptr;
    if (auto shape = known_shape(*node)) {
      results.push_back(*shape);
      if (!is_constant(node->input(0))) stays_with = node->input(0).node;
    } else if (auto inputs = constant_inputs(*node);
               inputs && !node->inputs().empty()) {
      double bytes = 0;
      for (const TensorType& type : node->outputs()) bytes += bytes_of(type);
      if (bytes > static_cast<double>(kMostBytes)) continue;
      auto computed = evaluate(*node, *inputs);
      if (!computed.ok()) continue;
      results = std::move(*computed);
    } else {
      continue;
    }
    bool small = true;
    for (const Tensor& result : results)
      small = small && result.bytes() <= kMostBytes;
    if (!small) continue;
    for (size_t i = 0; i < results.size(); ++i) {
      const Value folded = constant(*part.graph, results[i], "folded");
      // What it stands for may be within a branch or a loop.
      if (stays_with && branches) folded.node->add_control_input(*stays_with);
      redirect.add({node, static_cast<int>(i)}, folded);
    }
  }
  redirect.apply(part);
}

}  // namespace rondo
