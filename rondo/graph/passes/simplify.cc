#include "rondo/graph/ops/basic.h"
#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"

namespace rondo {
namespace {

// Whether every element of a constant is `wanted`; large ones are not looked
// at.
bool is_all(const Value& value, double wanted) {
  if (value.node->op().name != "Const") return false;
  const Tensor& t = value.node->attrs().get<Tensor>("value");
  if (t.count() > 64) return false;
  auto all = [&](auto elements) {
    for (const auto x : elements)
      if (static_cast<double>(x) != wanted) return false;
    return true;
  };
  switch (t.dtype()) {
    case DType::kF64: return all(t.span<double>());
    case DType::kF32: return all(t.span<float>());
    case DType::kI64: return all(t.span<int64_t>());
    case DType::kI32: return all(t.span<int32_t>());
    default: return false;
  }
}

// The one of two inputs that a node's result equals because the other is
// neutral. Broadcasting must not make it larger.
Value kept_operand(const Node& node) {
  const std::string_view op = node.op().name;
  const Value& x = node.input(0);
  const Value& y = node.input(1);
  auto keeps = [&](const Value& v) {
    return v.shape().known() && v.shape() == node.outputs()[0].shape;
  };
  // x + 0 is not x where x is -0, but equal to it.
  const bool sum = op == "Add";
  const bool product = op == "Mul";
  if ((sum && is_all(y, 0)) || (op == "Sub" && is_all(y, 0)) ||
      (product && is_all(y, 1)) || (op == "Div" && is_all(y, 1)))
    if (keeps(x)) return x;
  if ((sum && is_all(x, 0)) || (product && is_all(x, 1)))
    if (keeps(y)) return y;
  return {};
}

bool is_unchanged(const Node& node) {
  const std::string_view op = node.op().name;
  const TensorType& out = node.outputs()[0];
  if (op == "Identity" || op == "StopGradient") return true;
  if (op == "Cast") return out.dtype == node.input(0).dtype();
  if (op == "Reshape")
    return out.shape.known() && out.shape == node.input(0).shape();
  if (op == "Transpose" && node.attrs().has("perm")) {
    const Ints& perm = node.attrs().get<Ints>("perm");
    for (size_t i = 0; i < perm.size(); ++i)
      if (perm[i] != static_cast<int64_t>(i)) return false;
    return !perm.empty();
  }
  return false;
}

// What a transpose of a transpose equals, when the two cancel.
Value cancelled(const Node& node) {
  const Node& inner = *node.input(0).node;
  if (node.op().name != "Transpose" || inner.op().name != "Transpose" ||
      !inner.control_inputs().empty())
    return {};
  const Ints& outer_perm = node.attrs().get<Ints>("perm");
  const Ints& inner_perm = inner.attrs().get<Ints>("perm");
  if (outer_perm.size() != inner_perm.size() || outer_perm.empty()) return {};
  for (size_t i = 0; i < outer_perm.size(); ++i)
    if (inner_perm[static_cast<size_t>(outer_perm[i])] !=
        static_cast<int64_t>(i))
      return {};
  return inner.input(0);
}

}  // namespace

void simplify(Subgraph& part) {
  Redirect redirect;
  for (Node* node : ordered_nodes(part)) {
    redirect.redirect_inputs(*node);
    // Somebody may wait for exactly this node.
    if (!node->control_inputs().empty() || node->outputs().size() != 1)
      continue;
    if (node->op().name == "Reshape" &&
        node->input(0).node->op().name == "Reshape" &&
        node->input(0).node->control_inputs().empty())
      node->set_input(0, node->input(0).node->input(0));
    Value kept;
    if (is_unchanged(*node))
      kept = node->input(0);
    else if (node->inputs().size() == 2)
      kept = kept_operand(*node);
    else if (!node->inputs().empty())
      kept = cancelled(*node);
    if (kept) redirect.add({node, 0}, kept);
  }
  redirect.apply(part);
}

}  // namespace rondo
