#include "rondo/models/lstm.h"

#include <fmt/format.h>

#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"

namespace rondo::models {
namespace {

// Zeros [batch, units], of x [steps, batch, features].
Value first_state(Value x, int64_t units) {
  Graph& graph = x.graph();
  if (x.shape()[1] != kAny) return zeros(graph, {x.shape()[1], units});
  const Value shape =
      concat({rows(shape_of(x), 1, 2), constant_ints(graph, {units})}, 0);
  return fill(shape, constant(graph, 0, DType::kF32));
}

}  // namespace

LSTM::LSTM(LSTMOptions options)
    : options_(std::move(options)), layers_(options_.name, options_.compute) {}

Value LSTM::operator()(Value x) {
  x = transpose(x, {1, 0, 2});
  std::vector<Value> outputs;
  for (int i = 1; i <= options_.layers; ++i) {
    if (i > 1) x = stack(outputs);
    outputs = layer(x, fmt::format("layer{}", i));
  }
  return layers_.dense(outputs.back(), "logits", options_.classes);
}

std::vector<Value> LSTM::layer(Value x, const std::string& name) {
  const int64_t steps = known_extent(x, 0, name);
  const int64_t features = known_extent(x, 2, name);
  const int64_t gates = 4 * options_.units;
  Graph& graph = x.graph();
  const Value kernel_x = layers_.get(graph, name + "/kernel_x",
                                     {features, gates}, glorot_uniform());
  const Value kernel_h = layers_.get(graph, name + "/kernel_h",
                                     {options_.units, gates}, glorot_uniform());
  const Value bias = layers_.get(graph, name + "/bias", {gates}, filled(0));
  // What the input gives to the gates does not wait for the steps before: one
  // product for all of them.
  const Value from_x =
      bias_add(layers_.product(reshape(x, Ints{-1, features}), kernel_x), bias);
  CellState state = {.h = first_state(x, options_.units)};
  state.c = state.h;
  std::vector<Value> outputs;
  for (const Value& now : unstack(reshape(from_x, Ints{steps, -1, gates}))) {
    state = lstm_gates(now, layers_.product(state.h, kernel_h), state.c,
                       options_.forget_bias);
    outputs.push_back(state.h);
  }
  return outputs;
}

}  // namespace rondo::models
