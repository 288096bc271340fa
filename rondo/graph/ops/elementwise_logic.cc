// Comparisons, logic, and what chooses between values.
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/elementwise_parts.h"
#include "rondo/graph/ops/infer.h"

namespace rondo {
namespace {

using Grads = std::span<const Value>;
using Made = std::vector<Gradient>;

Status infer_select(InferContext& c) {
  PartialShape shape = c.shape(0);
  for (int i = 1; i < 3; ++i) {
    RONDO_ASSIGN_OR_RETURN(shape, broadcast(shape, c.shape(i)));
  }
  c.output(c.dtype(1), std::move(shape));
  return {};
}

Status infer_bool_like(InferContext& c) {
  c.output(DType::kBool, c.shape(0));
  return {};
}

Made select_gradient(Node& node, Grads g) {
  const Value condition = node.input(0);
  const Value zero = scalar_like(g[0], 0);
  return {{},
          sum_to_like(select(condition, g[0], zero), node.input(1)),
          sum_to_like(select(condition, zero, g[0]), node.input(2))};
}

// The kernel lets `high` win over `low`, so that does the gradient too.
Made clip_gradient(Node& node, Grads g) {
  const Value x = node.input(0);
  const Value low = node.input(1);
  const Value high = node.input(2);
  const Value zero = scalar_like(x, 0);
  const Value above = greater(maximum(x, low), high);
  const Value below = logical_and(less(x, low), logical_not(above));
  const Value outside = logical_or(above, below);
  return {sum_to_like(select(outside, zero, g[0]), x),
          sum_to_like(select(below, g[0], zero), low),
          sum_to_like(select(above, g[0], zero), high)};
}

Made check_numerics_gradient(Node& node, Grads g) {
  const auto& message = node.attrs().get<std::string>("message");
  return {check_numerics(g[0], message + " (its gradient)")};
}

struct Comparison {
  std::string_view name;
  std::string_view doc;
  TypeSet types = TypeSet::kNumber;
};

constexpr Comparison kComparisons[] = {
    {"Greater", "Whether x > y."},
    {"GreaterEqual", "Whether x >= y."},
    {"Less", "Whether x < y."},
    {"LessEqual", "Whether x <= y."},
    {"Equal", "Whether x == y; NaN equals nothing.", TypeSet::kAnyType},
    {"NotEqual", "Whether x != y; NaN differs from everything.",
     TypeSet::kAnyType},
    {"LogicalAnd", "Whether x and y are both true.", TypeSet::kBoolean},
    {"LogicalOr", "Whether x or y is true.", TypeSet::kBoolean},
};

}  // namespace

void register_logic_ops(OpRegistry& ops) {
  for (const Comparison& op : kComparisons)
    ops.add({.name = op.name,
             .doc = op.doc,
             .inputs = {{"x", op.types}, {"y", op.types}},
             .outputs = {"z"},
             .infer = infer::compare_inputs,
             .constant = true,
             .cost = cost::per_output<1>});
  ops.add({.name = "LogicalNot",
           .doc = "Whether x is false.",
           .inputs = {{"x", TypeSet::kBoolean}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .constant = true,
           .cost = cost::per_output<1>});
  ops.add({.name = "IsNan",
           .doc = "Whether x is not a number.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"y"},
           .infer = infer_bool_like,
           .constant = true,
           .cost = cost::per_output<1>});
  ops.add({.name = "Select",
           .doc = "x where the condition is true, y elsewhere. All three are "
                  "broadcast together.",
           .inputs = {{"condition", TypeSet::kBoolean, false, 0},
                      {"x", TypeSet::kAnyType},
                      {"y", TypeSet::kAnyType}},
           .outputs = {"z"},
           .infer = infer_select,
           .gradient = select_gradient,
           .cost = cost::per_output<1>});
  ops.add({.name = "ClipByValue",
           .doc = "x, but `low` where it is below that and `high` where it is "
                  "above that. All three are broadcast together. NaN stays.",
           .inputs = {{"x", TypeSet::kNumber},
                      {"low", TypeSet::kNumber},
                      {"high", TypeSet::kNumber}},
           .outputs = {"y"},
           .infer = infer::broadcast_inputs,
           .gradient = clip_gradient,
           .cost = cost::per_output<2>});
  ops.add({.name = "CheckNumerics",
           .doc = "x itself; a run fails when an element is NaN or infinite.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = {{"message", std::string(), false,
                      "what the error says first"}},
           .infer = infer::like_input,
           .gradient = check_numerics_gradient,
           .cost = cost::per_output<1>});
}

Value greater(Value x, Value y) { return make("Greater", {x, y}); }
Value greater_equal(Value x, Value y) { return make("GreaterEqual", {x, y}); }
Value less(Value x, Value y) { return make("Less", {x, y}); }
Value less_equal(Value x, Value y) { return make("LessEqual", {x, y}); }
Value equal(Value x, Value y) { return make("Equal", {x, y}); }
Value not_equal(Value x, Value y) { return make("NotEqual", {x, y}); }
Value logical_and(Value x, Value y) { return make("LogicalAnd", {x, y}); }
Value logical_or(Value x, Value y) { return make("LogicalOr", {x, y}); }
Value logical_not(Value x) { return make("LogicalNot", {x}); }
Value is_nan(Value x) { return make("IsNan", {x}); }
Value select(Value condition, Value x, Value y) {
  return make("Select", {condition, x, y});
}
Value clip_by_value(Value x, Value low, Value high) {
  return make("ClipByValue", {x, low, high});
}
Value clip_by_value(Value x, double low, double high) {
  return clip_by_value(x, scalar_like(x, low), scalar_like(x, high));
}
Value check_numerics(Value x, std::string message) {
  return make("CheckNumerics", {x}, {{"message", std::move(message)}});
}

}  // namespace rondo
