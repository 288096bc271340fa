// Activations and their gradients, each of which is one pass.
#include <cmath>
#include <numbers>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/elementwise_parts.h"
#include "rondo/graph/ops/infer.h"

namespace rondo {
namespace {

using Grads = std::span<const Value>;
using Made = std::vector<Gradient>;

// The gradient operation of an activation y = f(x): of dy and either y, which
// costs no memory where it is needed anyhow, or x.
Made relu_gradient(Node& node, Grads g) {
  return {make("ReluGrad", {g[0], node.output()})};
}
Made leaky_relu_gradient(Node& node, Grads g) {
  return {make("LeakyReluGrad", {g[0], node.input(0)}, node.attrs())};
}
Made elu_gradient(Node& node, Grads g) {
  return {make("EluGrad", {g[0], node.input(0)}, node.attrs())};
}
Made gelu_gradient(Node& node, Grads g) {
  return {make("GeluGrad", {g[0], node.input(0)}, node.attrs())};
}
Made sigmoid_gradient(Node& node, Grads g) {
  return {make("SigmoidGrad", {g[0], node.output()})};
}
Made tanh_gradient(Node& node, Grads g) {
  return {make("TanhGrad", {g[0], node.output()})};
}
Made softplus_gradient(Node& node, Grads g) {
  return {make("SoftplusGrad", {g[0], node.input(0)})};
}

// Gradients of those, for second derivatives. By dy each is the same operation
// again; by y or x it is g dy f''.
Value by_dy(Node& node, Value g) {
  return make(node.op().name, {g, node.input(1)}, node.attrs());
}
Made piecewise_grad_gradient(Node& node, Grads g) {
  return {by_dy(node, g[0]), {}};
}
Made elu_grad_gradient(Node& node, Grads g) {
  const Value x = node.input(1);
  const double alpha = node.attrs().get<double>("alpha");
  const Value zero = scalar_like(x, 0);
  const Value below = exp(minimum(x, zero)) * alpha;
  return {by_dy(node, g[0]),
          select(less(x, zero), g[0] * node.input(0) * below, zero)};
}
Made sigmoid_grad_gradient(Node& node, Grads g) {
  const Value y = node.input(1);
  return {by_dy(node, g[0]), g[0] * node.input(0) * (1 - 2 * y)};
}
Made tanh_grad_gradient(Node& node, Grads g) {
  const Value y = node.input(1);
  return {by_dy(node, g[0]), g[0] * node.input(0) * (-2 * y)};
}
Made softplus_grad_gradient(Node& node, Grads g) {
  const Value s = sigmoid(node.input(1));
  return {by_dy(node, g[0]), g[0] * node.input(0) * s * (1 - s)};
}

// With u = k (x + c x^3) and t = tanh(u):
// f'' = (1 - t^2) (u' + x u''/2 - x t u'^2).
Value gelu_tanh_second(Value x) {
  const double k = std::sqrt(2 / std::numbers::pi);
  constexpr double c = 0.044715;
  const Value xx = square(x);
  const Value t = tanh(x * (1 + xx * c) * k);
  const Value du = (1 + xx * (3 * c)) * k;
  const Value ddu = x * (6 * k * c);
  return (1 - square(t)) * (du + x * ddu * 0.5 - x * t * square(du));
}
// With the normal density p: f'' = p(x) (2 - x^2).
Value gelu_second(Value x) {
  const Value xx = square(x);
  return exp(xx * -0.5) * (1 / std::sqrt(2 * std::numbers::pi)) * (2 - xx);
}
Made gelu_grad_gradient(Node& node, Grads g) {
  const Value x = node.input(1);
  const bool approximate = node.attrs().get<bool>("approximate");
  return {by_dy(node, g[0]),
          g[0] * node.input(0) *
              (approximate ? gelu_tanh_second(x) : gelu_second(x))};
}

struct Activation {
  std::string_view name;
  std::string_view doc;
  GradientFn gradient;
  std::string_view grad_name;
  std::string_view grad_doc;
  std::string_view grad_input;
  GradientFn grad_gradient;
};

constexpr Activation kActivations[] = {
    {"Relu", "x where it is above zero, 0 elsewhere.", relu_gradient,
     "ReluGrad", "The gradient of y = Relu(x): dy where y is above zero.", "y",
     piecewise_grad_gradient},
    {"LeakyRelu", "x where it is above zero, alpha x elsewhere.",
     leaky_relu_gradient, "LeakyReluGrad",
     "The gradient of LeakyRelu(x): dy where x is above zero, alpha dy "
     "elsewhere.",
     "x", piecewise_grad_gradient},
    {"Elu", "x where it is above zero, alpha (e^x - 1) elsewhere.",
     elu_gradient, "EluGrad",
     "The gradient of Elu(x): dy where x is above zero, dy alpha e^x "
     "elsewhere.",
     "x", elu_grad_gradient},
    {"Gelu",
     "x P(x), where P(x) is the probability that a normally distributed number "
     "is below x.",
     gelu_gradient, "GeluGrad", "The gradient of Gelu(x).", "x",
     gelu_grad_gradient},
    {"Sigmoid", "1 / (1 + e^-x).", sigmoid_gradient, "SigmoidGrad",
     "The gradient of y = Sigmoid(x): dy y (1 - y).", "y",
     sigmoid_grad_gradient},
    {"Tanh", "The hyperbolic tangent of x.", tanh_gradient, "TanhGrad",
     "The gradient of y = Tanh(x): dy (1 - y^2).", "y", tanh_grad_gradient},
    {"Softplus", "log(1 + e^x).", softplus_gradient, "SoftplusGrad",
     "The gradient of Softplus(x): dy Sigmoid(x).", "x",
     softplus_grad_gradient},
};

std::vector<AttrSpec> attrs_of(std::string_view name) {
  if (name == "LeakyRelu")
    return {{"alpha", 0.2, false, "the slope below zero"}};
  if (name == "Elu")
    return {{"alpha", 1.0, false, "what it tends to below zero, negated"}};
  if (name == "Gelu")
    return {{"approximate", false, false,
             "x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 instead of the "
             "error function"}};
  return {};
}

}  // namespace

void register_activation_ops(OpRegistry& ops) {
  for (const Activation& op : kActivations) {
    ops.add({.name = op.name,
             .doc = op.doc,
             .inputs = {{"x", TypeSet::kFloat}},
             .outputs = {"y"},
             .attrs = attrs_of(op.name),
             .infer = infer::like_input,
             .gradient = op.gradient,
             .cost = op.name == "Relu" || op.name == "LeakyRelu"
                         ? cost::per_output<1>
                         : cost::per_output<cost::kFunction>});
    ops.add(
        {.name = op.grad_name,
         .doc = op.grad_doc,
         .inputs = {{"dy", TypeSet::kFloat}, {op.grad_input, TypeSet::kFloat}},
         .outputs = {"dx"},
         .attrs = attrs_of(op.name),
         .infer = infer_same_shape,
         .gradient = op.grad_gradient,
         .cost = cost::per_output<4>});
  }
}

Value tanh(Value x) { return make("Tanh", {x}); }
Value sigmoid(Value x) { return make("Sigmoid", {x}); }
Value relu(Value x) { return make("Relu", {x}); }
Value leaky_relu(Value x, double alpha) {
  return make("LeakyRelu", {x}, {{"alpha", alpha}});
}
Value elu(Value x, double alpha) {
  return make("Elu", {x}, {{"alpha", alpha}});
}
Value gelu(Value x, bool approximate) {
  return make("Gelu", {x}, {{"approximate", approximate}});
}
Value softplus(Value x) { return make("Softplus", {x}); }

}  // namespace rondo
