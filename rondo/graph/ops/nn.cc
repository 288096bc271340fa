#include "rondo/graph/ops/nn.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gradient_by_parts.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn_parts.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status infer_bias_add(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "bias"));
  PartialShape x = c.shape(0);
  const auto& format = c.attr<std::string>("data_format");
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         channel_axis(format, x.has_rank() ? x.rank() : 4));
  if (x.has_rank() && c.shape(1).has_rank()) {
    const int64_t channels = x[axis], bias = c.shape(1)[0];
    if (channels != kAny && bias != kAny && channels != bias)
      return error(Code::kInvalidArgument,
                   "x of shape {} has {} channels ({}), the bias {} elements",
                   x.to_string(), channels, format, bias);
    if (channels == kAny) x.set(axis, bias);
  }
  c.output(c.dtype(0), x);
  return {};
}

Status infer_bias_add_grad(InferContext& c) {
  const PartialShape& g = c.shape(0);
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         channel_axis(c.attr<std::string>("data_format"),
                                      g.has_rank() ? g.rank() : 4));
  c.output(c.dtype(0), {g.has_rank() ? g[axis] : kAny});
  return {};
}

// Like the first input, which has the axis of the attribute.
Status infer_along_axis(InferContext& c) {
  PartialShape shape = c.shape(0);
  if (shape.has_rank())
    RONDO_RETURN_IF_ERROR(
        resolve_axis(c.attr<int64_t>("axis"), shape.rank()).status());
  for (int i = 1; i < c.inputs(); ++i) {
    RONDO_ASSIGN_OR_RETURN(shape, merge(shape, c.shape(i)));
  }
  c.output(c.dtype(0), shape);
  return {};
}

Status infer_same_shapes(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape,
                         merge(c.shape(0), c.shape(1)));
  c.output(c.dtype(0), shape);
  return {};
}

Status infer_dropout(InferContext& c) {
  const double rate = c.attr<double>("rate");
  if (!(rate >= 0 && rate < 1))
    return error(Code::kInvalidArgument,
                 "the rate is {}, expected at least 0 and less than 1", rate);
  return infer_same_shapes(c);
}

Status infer_lrn(InferContext& c) {
  if (c.attr<int64_t>("depth_radius") < 0)
    return error(Code::kInvalidArgument, "depth_radius is {}",
                 c.attr<int64_t>("depth_radius"));
  if (c.shape(0).has_rank() && c.shape(0).rank() < 1)
    return error(Code::kInvalidArgument, "a scalar has no channels");
  return infer::like_input(c);
}

std::vector<Gradient> bias_add_gradient(Node& node,
                                        std::span<const Value> grads) {
  return {
      grads[0],
      make("BiasAddGrad", {grads[0]},
           {{"data_format", node.attrs().get<std::string>("data_format")}})};
}

std::vector<Gradient> bias_add_grad_gradient(Node& node,
                                             std::span<const Value> grads) {
  return {bias_add(zeros_like(node.input(0)), grads[0],
                   node.attrs().get<std::string>("data_format"))};
}

Attrs same_axis(Node& node) {
  return {{"axis", node.attrs().get<int64_t>("axis")}};
}

std::vector<Gradient> softmax_gradient(Node& node,
                                       std::span<const Value> grads) {
  return {make("SoftmaxGrad", {node.output(), grads[0]}, same_axis(node))};
}

std::vector<Gradient> log_softmax_gradient(Node& node,
                                           std::span<const Value> grads) {
  return {make("LogSoftmaxGrad", {node.output(), grads[0]}, same_axis(node))};
}

// Second derivatives: both sum over the axis of the softmax.
std::vector<Gradient> softmax_grad_gradient(Node& node,
                                            std::span<const Value> grads) {
  const ReduceOptions axis{{node.attrs().get<int64_t>("axis")}, true};
  return gradient_by_parts(node, grads, [&](const std::vector<Value>& in) {
    const Value y = in[0], g = in[1];
    return std::vector{y * (g - reduce_sum(y * g, axis))};
  });
}

std::vector<Gradient> log_softmax_grad_gradient(Node& node,
                                                std::span<const Value> grads) {
  const ReduceOptions axis{{node.attrs().get<int64_t>("axis")}, true};
  return gradient_by_parts(node, grads, [&](const std::vector<Value>& in) {
    const Value y = in[0], g = in[1];
    return std::vector{g - exp(y) * reduce_sum(g, axis)};
  });
}

std::vector<Gradient> dropout_gradient(Node& node,
                                       std::span<const Value> grads) {
  return {make("Dropout", {grads[0], node.input(1)},
               {{"rate", node.attrs().get<double>("rate")}}),
          {}};
}

std::vector<Gradient> lrn_gradient(Node& node, std::span<const Value> grads) {
  return {
      make("LRNGrad", {grads[0], node.input(0), node.output()}, node.attrs())};
}

// The sum over the neighbours in the last axis, as a product with a band of
// ones.
Value sum_of_neighbours(Value x, int64_t radius) {
  const PartialShape& shape = x.shape();
  const int64_t n = shape.has_rank() ? shape[shape.rank() - 1] : kAny;
  if (n == kAny)
    throw Error(Code::kInvalidArgument,
                fmt::format("the second derivative of LRN needs the number of "
                            "channels, but x has shape {}",
                            shape.to_string()));
  const Value band =
      matrix_band_part(ones(x.graph(), {n, n}, x.dtype()),
                       {.num_lower = radius, .num_upper = radius});
  return reshape(matmul(reshape(x, {-1, n}), band), shape_of(x));
}

std::vector<Gradient> lrn_grad_gradient(Node& node,
                                        std::span<const Value> grads) {
  const Attrs& attrs = node.attrs();
  const auto radius = attrs.get<int64_t>("depth_radius");
  const double alpha = attrs.get<double>("alpha");
  const double beta = attrs.get<double>("beta");
  return gradient_by_parts(node, grads, [&](const std::vector<Value>& in) {
    const Value g = in[0], x = in[1], y = in[2];
    const Value sum = sum_of_neighbours(square(x), radius) * alpha +
                      attrs.get<double>("bias");
    return std::vector{g * pow(sum, scalar_like(sum, -beta)) -
                       x * (2 * alpha * beta) *
                           sum_of_neighbours(g * y / sum, radius)};
  });
}

AttrSpec format_attr() {
  return {"data_format", std::string("NHWC"), false,
          "where the channels are: NHWC, in the last axis, or NCHW, in axis 1"};
}
AttrSpec axis_attr() {
  return {"axis", int64_t{-1}, false, "the axis that adds up to 1"};
}
std::vector<AttrSpec> lrn_attrs() {
  return {{"depth_radius", int64_t{5}, false, "neighbours on either side"},
          {"bias", 1.0, false, "added to the sum"},
          {"alpha", 1.0, false, "factor of the sum"},
          {"beta", 0.5, false, "exponent"}};
}

// A sum over the neighbours and a power, so many times.
template <int kTimes>
OpCost lrn_cost(const Node& node) {
  const auto neighbours =
      static_cast<double>(2 * node.attrs().get<int64_t>("depth_radius") + 1);
  return {kTimes * (2 * neighbours + cost::kFunction) *
              cost::elements(node.outputs()[0].shape),
          cost::all_bytes(node)};
}

void register_softmax(OpRegistry& ops) {
  const auto add = [&](std::string_view name, std::string_view doc,
                       GradientFn gradient) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {{"logits", TypeSet::kFloat}},
             .outputs = {"y"},
             .attrs = {axis_attr()},
             .infer = infer_along_axis,
             .gradient = gradient,
             .cost = cost::per_output<cost::kFunction + 3>});
  };
  add("Softmax", "exp(x) divided by its sum along an axis.", softmax_gradient);
  add("LogSoftmax",
      "The logarithm of softmax, computed so that none of it gets lost.",
      log_softmax_gradient);
  for (const std::string_view name : {"SoftmaxGrad", "LogSoftmaxGrad"})
    ops.add({.name = name,
             .doc = name == "SoftmaxGrad"
                        ? "The gradient of Softmax, from its result."
                        : "The gradient of LogSoftmax, from its result.",
             .inputs = {{"y", TypeSet::kFloat}, {"grad", TypeSet::kFloat}},
             .outputs = {"logits_grad"},
             .attrs = {axis_attr()},
             .infer = infer_along_axis,
             .gradient = name == "SoftmaxGrad" ? softmax_grad_gradient
                                               : log_softmax_grad_gradient,
             .cost = cost::per_output<4>});
}

}  // namespace

Result<int> channel_axis(std::string_view data_format, int rank) {
  if (data_format != "NHWC" && data_format != "NCHW")
    return error(Code::kInvalidArgument,
                 "data_format is \"{}\", expected \"NHWC\" or \"NCHW\"",
                 data_format);
  if (rank < 2)
    return error(Code::kInvalidArgument,
                 "x has rank {}, expected at least 2: a batch of channels",
                 rank);
  return data_format == "NHWC" ? rank - 1 : 1;
}

void want_no_gradients_behind(const Node& node, std::span<const Value> grads,
                              size_t outputs) {
  for (size_t i = outputs; i < grads.size(); ++i)
    if (grads[i])
      throw Error(Code::kInvalidArgument,
                  fmt::format("{} has no gradient through its output \"{}\"",
                              node.describe(), node.op().outputs[i]));
}

void register_nn_ops(OpRegistry& ops) {
  ops.add({.name = "BiasAdd",
           .doc = "x plus a bias for each channel.",
           .inputs = {{"x", TypeSet::kNumber}, {"bias", TypeSet::kNumber}},
           .outputs = {"y"},
           .attrs = {format_attr()},
           .infer = infer_bias_add,
           .gradient = bias_add_gradient,
           .cost = cost::per_output<1>});
  ops.add({.name = "BiasAddGrad",
           .doc = "The gradient of BiasAdd by the bias: the sum over all but "
                  "the channels.",
           .inputs = {{"grad", TypeSet::kFloat}},
           .outputs = {"bias_grad"},
           .attrs = {format_attr()},
           .infer = infer_bias_add_grad,
           .gradient = bias_add_grad_gradient,
           .cost = cost::per_input<0, 1>});
  register_softmax(ops);
  ops.add({.name = "Dropout",
           .doc = "x / (1 - rate) where a random number is at least `rate`, "
                  "otherwise 0.",
           .inputs = {{"x", TypeSet::kFloat}, {"random", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = {{"rate", 0.5, true, "the part that becomes 0"}},
           .infer = infer_dropout,
           .gradient = dropout_gradient,
           .cost = cost::per_output<2>});
  ops.add({.name = "LRN",
           .doc = "Local response normalisation: x divided by (bias + alpha "
                  "sum)^beta, where the sum is that of the squares of the "
                  "neighbours in the last axis.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = lrn_attrs(),
           .infer = infer_lrn,
           .gradient = lrn_gradient,
           .cost = lrn_cost<1>});
  ops.add({.name = "LRNGrad",
           .doc = "The gradient of LRN, from its input and its result.",
           .inputs = {{"grad", TypeSet::kFloat},
                      {"x", TypeSet::kFloat},
                      {"y", TypeSet::kFloat}},
           .outputs = {"x_grad"},
           .attrs = lrn_attrs(),
           .infer = infer_lrn,
           .gradient = lrn_grad_gradient,
           .cost = lrn_cost<2>});
  register_loss_ops(ops);
  register_norm_ops(ops);
  register_cell_ops(ops);
}

Value bias_add(Value x, Value bias, std::string data_format) {
  return make("BiasAdd", {x, bias}, {{"data_format", std::move(data_format)}});
}
Value softmax(Value logits, int64_t axis) {
  return make("Softmax", {logits}, {{"axis", axis}});
}
Value log_softmax(Value logits, int64_t axis) {
  return make("LogSoftmax", {logits}, {{"axis", axis}});
}

Value dropout(Value x, DropoutOptions options) {
  if (options.rate == 0) return x;
  const Value random = random_uniform(
      shape_of(x), 0, 1, {.dtype = x.dtype(), .seed = options.seed});
  return make("Dropout", {x, random}, {{"rate", options.rate}});
}

Value lrn(Value x, LrnOptions options) {
  return make("LRN", {x},
              {{"depth_radius", options.depth_radius},
               {"bias", options.bias},
               {"alpha", options.alpha},
               {"beta", options.beta}});
}

}  // namespace rondo
