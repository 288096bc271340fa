#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/elementwise_parts.h"
#include "rondo/graph/ops/infer.h"

namespace rondo {
namespace {

using Grads = std::span<const Value>;
using Made = std::vector<Gradient>;

Made neg_gradient(Node&, Grads g) { return {neg(g[0])}; }
Made abs_gradient(Node& node, Grads g) { return {g[0] * sign(node.input(0))}; }
Made exp_gradient(Node& node, Grads g) { return {g[0] * node.output()}; }
Made log_gradient(Node& node, Grads g) { return {g[0] / node.input(0)}; }
Made log1p_gradient(Node& node, Grads g) {
  return {g[0] / (node.input(0) + 1)};
}
Made sqrt_gradient(Node& node, Grads g) {
  return {make("SqrtGrad", {g[0], node.output()})};
}
Made rsqrt_gradient(Node& node, Grads g) {
  return {make("RsqrtGrad", {g[0], node.output()})};
}
Made square_gradient(Node& node, Grads g) {
  return {g[0] * (node.input(0) * 2)};
}
Made sin_gradient(Node& node, Grads g) { return {g[0] * cos(node.input(0))}; }
Made cos_gradient(Node& node, Grads g) {
  return {neg(g[0] * sin(node.input(0)))};
}

// Of dy / (2 y).
Made sqrt_grad_gradient(Node& node, Grads g) {
  const Value by_dy = make("SqrtGrad", {g[0], node.input(1)});
  return {by_dy, neg(g[0] * node.output() / node.input(1))};
}
// Of -dy y^3 / 2.
Made rsqrt_grad_gradient(Node& node, Grads g) {
  const Value dy = node.input(0);
  const Value y = node.input(1);
  return {make("RsqrtGrad", {g[0], y}), g[0] * dy * square(y) * -1.5};
}

struct Unary {
  std::string_view name;
  std::string_view doc;
  TypeSet types;
  GradientFn gradient;
};

constexpr Unary kUnary[] = {
    {"Neg", "-x.", TypeSet::kNumber, neg_gradient},
    {"Abs", "The absolute value of x.", TypeSet::kNumber, abs_gradient},
    {"Sign", "-1, 0 or 1 by the sign of x; NaN for NaN.", TypeSet::kNumber,
     nullptr},
    {"Exp", "e to the power x.", TypeSet::kFloat, exp_gradient},
    {"Log", "The natural logarithm of x; NaN below zero.", TypeSet::kFloat,
     log_gradient},
    {"Log1p", "The logarithm of 1 + x, precise for small x.", TypeSet::kFloat,
     log1p_gradient},
    {"Sqrt", "The square root of x.", TypeSet::kFloat, sqrt_gradient},
    {"Rsqrt", "1 / the square root of x.", TypeSet::kFloat, rsqrt_gradient},
    {"Square", "x * x.", TypeSet::kNumber, square_gradient},
    {"Sin", "The sine of x.", TypeSet::kFloat, sin_gradient},
    {"Cos", "The cosine of x.", TypeSet::kFloat, cos_gradient},
    {"Floor", "The largest whole number that is not above x.", TypeSet::kFloat,
     nullptr},
    {"Ceil", "The smallest whole number that is not below x.", TypeSet::kFloat,
     nullptr},
    {"Round", "The nearest whole number; halves go to the even one.",
     TypeSet::kFloat, nullptr},
};

// Whether it takes a polynomial, and not an instruction or two.
bool is_function(std::string_view name) {
  return name == "Exp" || name == "Log" || name == "Log1p" || name == "Sin" ||
         name == "Cos";
}

}  // namespace

void register_unary_ops(OpRegistry& ops) {
  for (const Unary& op : kUnary)
    ops.add({.name = op.name,
             .doc = op.doc,
             .inputs = {{"x", op.types}},
             .outputs = {"y"},
             .infer = infer::like_input,
             .gradient = op.gradient,
             .constant = op.gradient == nullptr,
             .cost = is_function(op.name) ? cost::per_output<cost::kFunction>
                                          : cost::per_output<1>});
  ops.add({.name = "SqrtGrad",
           .doc = "The gradient of y = Sqrt(x): dy / (2 y).",
           .inputs = {{"dy", TypeSet::kFloat}, {"y", TypeSet::kFloat}},
           .outputs = {"dx"},
           .infer = infer_same_shape,
           .gradient = sqrt_grad_gradient,
           .cost = cost::per_output<2>});
  ops.add({.name = "RsqrtGrad",
           .doc = "The gradient of y = Rsqrt(x): -dy y^3 / 2.",
           .inputs = {{"dy", TypeSet::kFloat}, {"y", TypeSet::kFloat}},
           .outputs = {"dx"},
           .infer = infer_same_shape,
           .gradient = rsqrt_grad_gradient,
           .cost = cost::per_output<4>});
}

Value neg(Value x) { return make("Neg", {x}); }
Value abs(Value x) { return make("Abs", {x}); }
Value sign(Value x) { return make("Sign", {x}); }
Value exp(Value x) { return make("Exp", {x}); }
Value log(Value x) { return make("Log", {x}); }
Value log1p(Value x) { return make("Log1p", {x}); }
Value sqrt(Value x) { return make("Sqrt", {x}); }
Value rsqrt(Value x) { return make("Rsqrt", {x}); }
Value square(Value x) { return make("Square", {x}); }
Value sin(Value x) { return make("Sin", {x}); }
Value cos(Value x) { return make("Cos", {x}); }
Value floor(Value x) { return make("Floor", {x}); }
Value ceil(Value x) { return make("Ceil", {x}); }
Value round(Value x) { return make("Round", {x}); }

}  // namespace rondo
