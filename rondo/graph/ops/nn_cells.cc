#include <cmath>
#include <limits>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gradient_by_parts.h"
#include "rondo/graph/ops/joining.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/nn_parts.h"
#include "rondo/graph/ops/searching.h"
#include "rondo/graph/ops/shaping.h"
#include "rondo/graph/ops/slicing.h"

namespace rondo {
namespace {

// [batch, gates * units] and [batch, units], as far as the inputs say: `wide`
// are inputs of the first kind, `narrow` one of the second.
Status infer_gates(InferContext& c, int64_t gates,
                   std::initializer_list<int> wide, int narrow,
                   PartialShape& all, PartialShape& units) {
  units = PartialShape::of_rank(2);
  RONDO_ASSIGN_OR_RETURN(units, merge(units, c.shape(narrow)));
  all = {units[0], units[1] == kAny ? kAny : units[1] * gates};
  for (const int i : wide) {
    auto merged = merge(all, c.shape(i));
    if (!merged.ok())
      return error(Code::kInvalidArgument,
                   "gates have shape {}, a state {}; expected {} times as many "
                   "gates as units, for the same batch",
                   c.shape(i).to_string(), c.shape(narrow).to_string(), gates);
    all = *merged;
  }
  if (all[1] != kAny) {
    if (all[1] % gates != 0)
      return error(Code::kInvalidArgument,
                   "{} gates cannot be divided among {} kinds", all[1], gates);
    units.set(1, all[1] / gates);
  }
  units.set(0, all[0]);
  return {};
}

Status infer_lstm(InferContext& c) {
  PartialShape all, units;
  RONDO_RETURN_IF_ERROR(infer_gates(c, 4, {0, 1}, 2, all, units));
  c.output(c.dtype(0), units);
  c.output(c.dtype(0), units);
  c.output(c.dtype(0), all);
  return {};
}

Status infer_lstm_grad(InferContext& c) {
  PartialShape all, units;
  RONDO_RETURN_IF_ERROR(infer_gates(c, 4, {0}, 1, all, units));
  c.output(c.dtype(0), all);
  c.output(c.dtype(0), units);
  return {};
}

Status infer_gru(InferContext& c) {
  PartialShape all, units;
  RONDO_RETURN_IF_ERROR(infer_gates(c, 3, {0, 1}, 2, all, units));
  c.output(c.dtype(0), units);
  c.output(c.dtype(0), all);
  return {};
}

Status infer_gru_grad(InferContext& c) {
  PartialShape all, units;
  RONDO_RETURN_IF_ERROR(infer_gates(c, 3, {0, 1}, 2, all, units));
  c.output(c.dtype(0), all);
  c.output(c.dtype(0), all);
  c.output(c.dtype(0), units);
  return {};
}

// The derivatives of activations, from their results.
Value sigmoid_slope(Value y) { return y * (1 - y); }
Value tanh_slope(Value y) { return 1 - square(y); }

std::vector<Gradient> lstm_gradient(Node& node, std::span<const Value> grads) {
  const auto or_zeros = [&](int i) {
    const Value g = grads[static_cast<size_t>(i)];
    return g ? g : zeros_like(node.output(i));
  };
  Node& all =
      node.graph().add({.op = "LSTMGatesGrad",
                        .inputs = {node.output(2), node.input(2),
                                   node.output(1), or_zeros(0), or_zeros(1)}});
  Value by_gates = all.output(0);
  // The gates as used are for the gradient; so this is the second derivative.
  if (grads[2]) {
    const auto y = split(node.output(2), 4, 1);
    const Value slopes = concat({sigmoid_slope(y[0]), tanh_slope(y[1]),
                                 sigmoid_slope(y[2]), sigmoid_slope(y[3])},
                                1);
    by_gates = by_gates + grads[2] * slopes;
  }
  return {by_gates, by_gates, all.output(1)};
}

std::vector<Gradient> lstm_grad_gradient(Node& node,
                                         std::span<const Value> grads) {
  return gradient_by_parts(node, grads, [](const std::vector<Value>& in) {
    const auto y = split(in[0], 4, 1);
    const Value c_prev = in[1], t = tanh(in[2]), dh = in[3];
    const Value dc = dh * y[3] * tanh_slope(t) + in[4];
    return std::vector{
        concat(
            {dc * y[1] * sigmoid_slope(y[0]), dc * y[0] * tanh_slope(y[1]),
             dc * c_prev * sigmoid_slope(y[2]), dh * t * sigmoid_slope(y[3])},
            1),
        dc * y[2]};
  });
}

std::vector<Gradient> gru_gradient(Node& node, std::span<const Value> grads) {
  Node& all = node.graph().add(
      {.op = "GRUGatesGrad",
       .inputs = {node.output(1), node.input(1), node.input(2),
                  grads[0] ? grads[0] : zeros_like(node.output(0))}});
  Value by_x = all.output(0), by_h = all.output(1);
  // The gates as used are for the gradient; so this is the second derivative.
  if (grads[1]) {
    const auto y = split(node.output(1), 3, 1);
    const auto g = split(grads[1], 3, 1);
    const Value h = split(node.input(1), 3, 1)[2];
    const Value candidate = g[2] * tanh_slope(y[2]);
    const Value reset = (g[0] + candidate * h) * sigmoid_slope(y[0]);
    const Value update = g[1] * sigmoid_slope(y[1]);
    by_x = by_x + concat({reset, update, candidate}, 1);
    by_h = by_h + concat({reset, update, candidate * y[0]}, 1);
  }
  return {by_x, by_h, all.output(2)};
}

std::vector<Gradient> gru_grad_gradient(Node& node,
                                        std::span<const Value> grads) {
  return gradient_by_parts(node, grads, [](const std::vector<Value>& in) {
    const auto y = split(in[0], 3, 1);
    const Value h = split(in[1], 3, 1)[2], h_prev = in[2], dh = in[3];
    const Value update = dh * (h_prev - y[2]) * sigmoid_slope(y[1]);
    const Value candidate = dh * (1 - y[1]) * tanh_slope(y[2]);
    const Value reset = candidate * h * sigmoid_slope(y[0]);
    return std::vector{concat({reset, update, candidate}, 1),
                       concat({reset, update, candidate * y[0]}, 1), dh * y[1]};
  });
}

std::vector<InputSpec> floats(std::initializer_list<std::string_view> names) {
  std::vector<InputSpec> specs;
  for (const std::string_view name : names)
    specs.push_back({name, TypeSet::kFloat});
  return specs;
}

}  // namespace

void register_cell_ops(OpRegistry& ops) {
  ops.add({.name = "LSTMGates",
           .doc = "A step of a long short-term memory behind its products. "
                  "x_gates + h_gates [batch, 4 units] are i, j, f, o: c = "
                  "sigmoid(f + forget_bias) c_prev + sigmoid(i) tanh(j), h = "
                  "sigmoid(o) tanh(c). Also gives the gates as used, for the "
                  "gradient.",
           .inputs = floats({"x_gates", "h_gates", "c_prev"}),
           .outputs = {"h", "c", "gates"},
           .attrs = {{"forget_bias", 1.0, false, "added to f"}},
           .infer = infer_lstm,
           .gradient = lstm_gradient,
           .cost = cost::per_input<0, cost::kFunction>});
  ops.add({.name = "LSTMGatesGrad",
           .doc = "The gradients of LSTMGates by both gates and by c_prev.",
           .inputs = floats({"gates", "c_prev", "c", "h_grad", "c_grad"}),
           .outputs = {"gates_grad", "c_prev_grad"},
           .infer = infer_lstm_grad,
           .gradient = lstm_grad_gradient,
           .cost = cost::per_output<5>});
  ops.add({.name = "GRUGates",
           .doc = "A step of a gated recurrent unit behind its products. Both "
                  "x_gates and h_gates [batch, 3 units] are r, z, n: r and z "
                  "are sigmoids of the sums, the candidate is tanh(x_n + r "
                  "h_n), and h = z h_prev + (1 - z) candidate. Also gives "
                  "the gates as used, for the gradient.",
           .inputs = floats({"x_gates", "h_gates", "h_prev"}),
           .outputs = {"h", "gates"},
           .infer = infer_gru,
           .gradient = gru_gradient,
           .cost = cost::per_input<0, cost::kFunction>});
  ops.add({.name = "GRUGatesGrad",
           .doc = "The gradients of GRUGates.",
           .inputs = floats({"gates", "h_gates", "h_prev", "h_grad"}),
           .outputs = {"x_gates_grad", "h_gates_grad", "h_prev_grad"},
           .infer = infer_gru_grad,
           .gradient = gru_grad_gradient,
           .cost = cost::per_output<5>});
}

CellState lstm_cell(Value x, CellState state, CellWeights weights,
                    double forget_bias) {
  const Value from_x = bias_add(matmul(x, weights.x), weights.bias);
  return lstm_gates(from_x, matmul(state.h, weights.h), state.c, forget_bias);
}

CellState lstm_gates(Value from_x, Value from_h, Value c, double forget_bias) {
  const Value h =
      make("LSTMGates", {from_x, from_h, c}, {{"forget_bias", forget_bias}});
  return {h, h.node->output(1)};
}

Value gru_cell(Value x, Value h, CellWeights weights, Value h_bias) {
  const Value from_x = bias_add(matmul(x, weights.x), weights.bias);
  Value from_h = matmul(h, weights.h);
  if (h_bias) from_h = bias_add(from_h, h_bias);
  return make("GRUGates", {from_x, from_h, h});
}

namespace {

// Of [..., length, depth], where it is known.
int64_t length_of(Value x) {
  const PartialShape& shape = x.shape();
  return shape.has_rank() && shape.rank() > 1 ? shape[shape.rank() - 2] : kAny;
}

// Scores [..., queries, keys], minus infinity where a key comes after a query;
// the last query is in the last key's place.
Value causal(Value scores, Value query, Value key) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const int64_t queries = length_of(query), keys = length_of(key);
  if (queries == kAny || keys == kAny) {
    Graph& graph = scores.graph();
    const auto places = [&](Value length, int64_t axis) {
      return expand_dims(range(constant(graph, 0, DType::kI64), length,
                               constant(graph, 1, DType::kI64)),
                         axis);
    };
    const Value rows = element(shape_of(query), -2);
    const Value columns = element(shape_of(key), -2);
    const Value ahead = places(columns, 0) - places(rows, 1);
    return select(greater(ahead, columns - rows), scalar_like(scores, kNever),
                  scores);
  }
  if (queries > keys)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("scaled_dot_product_attention: more queries ({}) "
                    "than keys ({}) cannot be causal",
                    query.shape().to_string(), key.shape().to_string()));
  return matrix_band_part(
      scores, {.num_lower = -1, .num_upper = keys - queries, .fill = kNever});
}

}  // namespace

Value scaled_dot_product_attention(Value query, Value key, Value value,
                                   AttentionOptions options) {
  const PartialShape& q = query.shape();
  if (!options.scale) {
    const int64_t depth = q.has_rank() && q.rank() > 0 ? q[q.rank() - 1] : kAny;
    if (depth <= 0)
      throw Error(Code::kInvalidArgument,
                  fmt::format("scaled_dot_product_attention: the query has "
                              "shape {}, expected a known depth in the last "
                              "axis, or a scale",
                              q.to_string()));
    options.scale = 1 / std::sqrt(static_cast<double>(depth));
  }
  const Value scaled = make(
      "Mul", {query, constant(query.graph(), *options.scale, query.dtype())});
  Value scores = batch_matmul(scaled, key, false, true);
  if (options.mask) scores = make("Add", {scores, options.mask});
  if (options.causal) scores = causal(scores, query, key);
  return batch_matmul(softmax(scores), value);
}

}  // namespace rondo
