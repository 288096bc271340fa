#include "rondo/models/layers.h"

#include <fmt/format.h>

#include <cmath>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/state.h"

namespace rondo::models {
namespace {

struct Fans {
  double in = 1;
  double out = 1;
};

// Of a kernel [..., inputs, outputs]; the axes before are a window.
Fans fans_of(const Shape& shape) {
  const int rank = static_cast<int>(shape.rank());
  double window = 1;
  for (int i = 0; i < rank - 2; ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[rank - 2]),
          window * static_cast<double>(shape[rank - 1])};
}

// What cutting at two standard deviations takes away is given back.
Value scaled_normal(Graph& graph, const Shape& shape, double variance) {
  return truncated_normal(graph, shape, 0,
                          std::sqrt(variance) / 0.87962566103423978);
}

std::string join(std::string_view a, std::string_view b) {
  return fmt::format("{}/{}", a, b);
}

}  // namespace

Initial he_normal() {
  return [](Graph& graph, const Shape& shape) {
    return scaled_normal(graph, shape, 2 / fans_of(shape).in);
  };
}

Initial he_normal_fan_out() {
  return [](Graph& graph, const Shape& shape) {
    return scaled_normal(graph, shape, 2 / fans_of(shape).out);
  };
}

Initial glorot_uniform() {
  return [](Graph& graph, const Shape& shape) {
    const Fans fans = fans_of(shape);
    const double limit = std::sqrt(6 / (fans.in + fans.out));
    return random_uniform(graph, shape, -limit, limit);
  };
}

Initial normal(double stddev) {
  return [stddev](Graph& graph, const Shape& shape) {
    return random_normal(graph, shape, 0, stddev);
  };
}

Initial filled(double value) {
  return [value](Graph& graph, const Shape& shape) {
    return fill(graph, shape, value);
  };
}

Value Layers::get(Graph& graph, std::string_view name, const Shape& shape,
                  const Initial& initial, bool trainable) {
  const std::string whole = join(scope_, name);
  if (auto found = variables_.find(whole); found != variables_.end()) {
    if (found->second.shape() == PartialShape(shape)) return found->second;
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: the variable has shape {}, and {} is asked "
                            "for; call the model with inputs of one shape",
                            whole, found->second.shape().to_string(),
                            shape.to_string()));
  }
  const ControlScope no_waiting(graph, {}, true);
  Value start;
  {
    const NameScope scope(graph, whole + "/Initializer/");
    start = initial(graph, shape);
  }
  const NameScope outside(graph, "/");
  const Value made =
      variable(graph, start, {.name = whole, .trainable = trainable});
  variables_.emplace(whole, made);
  return made;
}

Value Layers::product(Value x, Value kernel, bool transpose) const {
  const Value y = matmul(cast(x, compute_), cast(kernel, compute_),
                         {.transpose_b = transpose});
  return cast(y, x.dtype());
}

Value Layers::dense(Value x, std::string_view name, int64_t units,
                    const Initial& initial) {
  const int64_t depth = known_extent(x, 1, name);
  Graph& graph = x.graph();
  const Value kernel =
      get(graph, join(name, "kernel"), {depth, units}, initial);
  const Value bias = get(graph, join(name, "bias"), {units}, filled(0));
  return bias_add(product(x, kernel), bias);
}

Value Layers::conv(Value x, std::string_view name, const ConvOptions& options) {
  Conv2DOptions window;
  window.data_format = options.data_format;
  window.strides = {options.stride, options.stride};
  window.padding = "EXPLICIT";
  window.paddings.fill(options.size / 2);
  const int64_t channels = known_extent(x, window.channel_axis(), name);
  Graph& graph = x.graph();
  const Value kernel = get(
      graph, join(name, "kernel"),
      {options.size, options.size, channels, options.filters}, options.initial);
  const Value y = cast(
      conv2d(cast(x, compute_), cast(kernel, compute_), window), x.dtype());
  if (!options.bias) return y;
  const Value bias =
      get(graph, join(name, "bias"), {options.filters}, filled(0));
  return bias_add(y, bias, options.data_format);
}

Value Layers::batch_norm(Value x, std::string_view name,
                         const NormOptions& options) {
  Graph& graph = x.graph();
  const int axis = options.data_format == "NHWC" ? 3 : 1;
  const Shape shape = {known_extent(x, axis, name)};
  const Value gamma = get(graph, join(name, "gamma"), shape, filled(1));
  const Value beta = get(graph, join(name, "beta"), shape, filled(0));
  const Value mean =
      get(graph, join(name, "moving_mean"), shape, filled(0), false);
  const Value variance =
      get(graph, join(name, "moving_variance"), shape, filled(1), false);
  BatchNormInputs inputs{.x = x, .scale = gamma, .offset = beta};
  if (!options.training) {
    inputs.mean = mean;
    inputs.variance = variance;
  }
  const BatchNorm norm =
      fused_batch_norm(inputs, {.epsilon = options.epsilon,
                                .data_format = options.data_format,
                                .is_training = options.training});
  if (options.training) {
    const double rate = 1 - options.momentum;
    auto& updates = graph.collection(kUpdates);
    updates.push_back(assign_sub(mean, (mean - norm.batch_mean) * rate));
    updates.push_back(
        assign_sub(variance, (variance - norm.batch_variance) * rate));
  }
  return norm.y;
}

Value Layers::layer_norm(Value x, std::string_view name) {
  const Shape shape = {known_extent(x, x.shape().rank() - 1, name)};
  const Value gamma = get(x.graph(), join(name, "gamma"), shape, filled(1));
  const Value beta = get(x.graph(), join(name, "beta"), shape, filled(0));
  return rondo::layer_norm(x, gamma, beta);
}

int64_t known_extent(Value x, int axis, std::string_view what) {
  const PartialShape& shape = x.shape();
  if (!shape.has_rank() || axis >= shape.rank() || shape[axis] == kAny)
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: axis {} of its input, of shape {}, must be "
                            "known",
                            what, axis, shape.to_string()));
  return shape[axis];
}

}  // namespace rondo::models
