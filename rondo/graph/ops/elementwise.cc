#include "rondo/graph/ops/elementwise.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise_parts.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {

Status infer_same_shape(InferContext& c) {
  PartialShape shape = c.inputs() > 0 ? c.shape(0) : PartialShape();
  for (int i = 1; i < c.inputs(); ++i) {
    RONDO_ASSIGN_OR_RETURN(shape, merge(shape, c.shape(i)));
  }
  if (c.inputs() == 0)
    return error(Code::kInvalidArgument, "it takes at least 1 input, not 0");
  c.output(c.dtype(0), std::move(shape));
  return {};
}

namespace {

using Grads = std::span<const Value>;

Value x_of(Node& node) { return node.input(0); }
Value y_of(Node& node) { return node.input(1); }

std::vector<Gradient> add_gradient(Node& node, Grads g) {
  return {sum_to_like(g[0], x_of(node)), sum_to_like(g[0], y_of(node))};
}

std::vector<Gradient> sub_gradient(Node& node, Grads g) {
  return {sum_to_like(g[0], x_of(node)), neg(sum_to_like(g[0], y_of(node)))};
}

std::vector<Gradient> mul_gradient(Node& node, Grads g) {
  return {sum_to_like(g[0] * y_of(node), x_of(node)),
          sum_to_like(g[0] * x_of(node), y_of(node))};
}

std::vector<Gradient> div_gradient(Node& node, Grads g) {
  const Value by_x = g[0] / y_of(node);
  return {sum_to_like(by_x, x_of(node)),
          sum_to_like(neg(by_x * node.output()), y_of(node))};
}

std::vector<Gradient> mod_gradient(Node& node, Grads g) {
  const Value times = floor_div(x_of(node), y_of(node));
  return {sum_to_like(g[0], x_of(node)),
          sum_to_like(neg(g[0] * times), y_of(node))};
}

// By the exponent only where the base is positive: elsewhere there is none.
std::vector<Gradient> pow_gradient(Node& node, Grads g) {
  const Value x = x_of(node);
  const Value y = y_of(node);
  const Value by_x = g[0] * y * pow(x, y - 1);
  const Value positive = greater(x, scalar_like(x, 0));
  const Value log_x = select(
      positive, log(select(positive, x, scalar_like(x, 1))), scalar_like(x, 0));
  const Value by_y = g[0] * node.output() * log_x;
  return {sum_to_like(by_x, x), sum_to_like(by_y, y)};
}

std::vector<Gradient> squared_difference_gradient(Node& node, Grads g) {
  const Value by_x = (g[0] * 2) * (x_of(node) - y_of(node));
  return {sum_to_like(by_x, x_of(node)), neg(sum_to_like(by_x, y_of(node)))};
}

// All to x where `x_wins`, all to y elsewhere.
std::vector<Gradient> either(Node& node, Value x_wins, Value g) {
  const Value zero = scalar_like(g, 0);
  return {sum_to_like(select(x_wins, g, zero), x_of(node)),
          sum_to_like(select(x_wins, zero, g), y_of(node))};
}

std::vector<Gradient> maximum_gradient(Node& node, Grads g) {
  return either(node, greater_equal(x_of(node), y_of(node)), g[0]);
}

std::vector<Gradient> minimum_gradient(Node& node, Grads g) {
  return either(node, less_equal(x_of(node), y_of(node)), g[0]);
}

std::vector<Gradient> add_n_gradient(Node& node, Grads g) {
  return std::vector<Gradient>(node.inputs().size(), g[0]);
}

Status infer_sum_to(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "shape"));
  PartialShape to;
  if (const auto ints = c.constant_ints(1)) {
    to = PartialShape(*ints);
  } else if (c.shape(1).has_rank() && c.shape(1)[0] != kAny) {
    to = PartialShape::of_rank(static_cast<int>(c.shape(1)[0]));
  }
  const PartialShape& x = c.shape(0);
  if (to.has_rank() && x.has_rank()) {
    bool fits = to.rank() <= x.rank();
    for (int i = 1; fits && i <= to.rank(); ++i) {
      const int64_t have = x[x.rank() - i];
      const int64_t want = to[to.rank() - i];
      fits = want == 1 || want == have || want == kAny || have == kAny;
    }
    if (!fits)
      return error(Code::kInvalidArgument,
                   "no tensor of shape {} can be broadcast to {}",
                   to.to_string(), x.to_string());
  }
  c.output(c.dtype(0), std::move(to));
  return {};
}

std::vector<Gradient> sum_to_gradient(Node& node, Grads g) {
  return {make("SumToGrad", {g[0], shape_of(x_of(node))}), {}};
}

Status infer_sum_to_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "shape"));
  const auto ints = c.constant_ints(1);
  c.output(c.dtype(0), ints ? PartialShape(*ints) : PartialShape());
  return {};
}

std::vector<Gradient> sum_to_grad_gradient(Node& node, Grads g) {
  return {sum_to(g[0], shape_of(x_of(node))), {}};
}

struct Binary {
  std::string_view name;
  std::string_view doc;
  GradientFn gradient;
  TypeSet types = TypeSet::kNumber;
};

constexpr Binary kBinary[] = {
    {"Add", "x + y. Integers wrap around.", add_gradient},
    {"Sub", "x - y. Integers wrap around.", sub_gradient},
    {"Mul", "x * y. Integers wrap around.", mul_gradient},
    {"Div",
     "x / y. Integers are divided towards zero; one divided by zero is an "
     "error.",
     div_gradient},
    {"FloorDiv", "x / y rounded down. An integer divided by zero is an error.",
     nullptr},
    {"Mod",
     "What is left of x divided by y and rounded down: of the sign of y. An "
     "integer divided by zero is an error.",
     mod_gradient},
    {"Pow", "x to the power y. An integer to a negative power is an error.",
     pow_gradient},
    {"Maximum",
     "The larger of x and y; NaN where either is. The gradient goes to x where "
     "they are equal.",
     maximum_gradient},
    {"Minimum",
     "The smaller of x and y; NaN where either is. The gradient goes to x "
     "where they are equal.",
     minimum_gradient},
    {"SquaredDifference", "(x - y) squared.", squared_difference_gradient},
};

OpCost add_n_cost(const Node& node) {
  const auto sums = static_cast<double>(node.inputs().size()) - 1;
  return {sums * cost::elements(node.outputs()[0].shape),
          cost::all_bytes(node)};
}

}  // namespace

void register_binary_ops(OpRegistry& ops) {
  for (const Binary& op : kBinary)
    ops.add({.name = op.name,
             .doc = op.doc,
             .inputs = {{"x", op.types}, {"y", op.types}},
             .outputs = {"z"},
             .infer = infer::broadcast_inputs,
             .gradient = op.gradient,
             .constant = op.gradient == nullptr,
             .cost = op.name == "Pow" ? cost::per_output<cost::kFunction>
                                      : cost::per_output<1>});
  ops.add({.name = "AddN",
           .doc = "The sum of any number of tensors of one shape, in the order "
                  "of the list.",
           .inputs = {{"values", TypeSet::kNumber, true}},
           .outputs = {"sum"},
           .infer = infer_same_shape,
           .gradient = add_n_gradient,
           .cost = add_n_cost});
  ops.add({.name = "SumTo",
           .doc = "x summed over the axes by which a tensor of the given shape "
                  "was broadcast to x's: what is left has that shape. The "
                  "gradient of broadcasting.",
           .inputs = {{"x", TypeSet::kNumber, false, 0},
                      {"shape", TypeSet::kIndex, false, 0}},
           .outputs = {"y"},
           .infer = infer_sum_to,
           .gradient = sum_to_gradient,
           .cost = cost::per_input<0, 1>});
  ops.add({.name = "SumToGrad",
           .doc = "The gradient of SumTo: dy broadcast to the given shape.",
           .inputs = {{"dy", TypeSet::kNumber, false, 0},
                      {"shape", TypeSet::kIndex, false, 0}},
           .outputs = {"dx"},
           .infer = infer_sum_to_grad,
           .gradient = sum_to_grad_gradient,
           .cost = cost::copied});
}

void register_elementwise_ops(OpRegistry& ops) {
  register_binary_ops(ops);
  register_unary_ops(ops);
  register_activation_ops(ops);
  register_logic_ops(ops);
}

Value scalar_like(Value x, double value) {
  if (!x)
    throw Error(Code::kInvalidArgument,
                "an operator has a number on one side and no value on the "
                "other");
  return constant(x.graph(), value, x.dtype());
}

Value add(Value x, Value y) { return make("Add", {x, y}); }
Value sub(Value x, Value y) { return make("Sub", {x, y}); }
Value mul(Value x, Value y) { return make("Mul", {x, y}); }
Value div(Value x, Value y) { return make("Div", {x, y}); }
Value floor_div(Value x, Value y) { return make("FloorDiv", {x, y}); }
Value mod(Value x, Value y) { return make("Mod", {x, y}); }
Value pow(Value x, Value y) { return make("Pow", {x, y}); }
Value maximum(Value x, Value y) { return make("Maximum", {x, y}); }
Value minimum(Value x, Value y) { return make("Minimum", {x, y}); }
Value squared_difference(Value x, Value y) {
  return make("SquaredDifference", {x, y});
}
Value add_n(std::vector<Value> values) {
  return make("AddN", std::move(values));
}
Value sum_to(Value x, Value shape) { return make("SumTo", {x, shape}); }
Value sum_to_like(Value x, Value like) {
  if (x.shape().known() && x.shape() == like.shape()) return x;
  return sum_to(x, shape_of(like));
}

}  // namespace rondo
