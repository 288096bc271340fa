#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gradient_by_parts.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/nn_parts.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/shaping.h"

namespace rondo {
namespace {

// That input i is a vector of `extent`, where both are known.
Status want_vector(InferContext& c, int i, int64_t extent,
                   std::string_view name) {
  RONDO_RETURN_IF_ERROR(c.want_rank(i, 1, name));
  if (c.shape(i).compatible(PartialShape{extent})) return {};
  return error(Code::kInvalidArgument, "{} has shape {}, expected [{}]", name,
               c.shape(i).to_string(), extent);
}

// Statistics of rows are kept in the type in which they are computed.
DType statistics_of(DType dtype) {
  return dtype == DType::kF64 ? dtype : DType::kF32;
}

Status infer_layer_norm(InferContext& c) {
  const PartialShape& x = c.shape(0);
  if (x.has_rank() && x.rank() < 1)
    return error(Code::kInvalidArgument, "x is a scalar, expected rows");
  const int64_t n = x.has_rank() ? x[x.rank() - 1] : kAny;
  RONDO_RETURN_IF_ERROR(want_vector(c, 1, n, "scale"));
  RONDO_RETURN_IF_ERROR(want_vector(c, 2, n, "offset"));
  PartialShape rows;
  if (x.has_rank())
    rows = PartialShape(Ints(x.extents().begin(), x.extents().end() - 1));
  c.output(c.dtype(0), x);
  c.output(statistics_of(c.dtype(0)), rows);
  c.output(statistics_of(c.dtype(0)), rows);
  return {};
}

Status infer_layer_norm_grad(InferContext& c) {
  const PartialShape& x = c.shape(1);
  if (x.has_rank() && x.rank() < 1)
    return error(Code::kInvalidArgument, "x is a scalar, expected rows");
  c.output(c.dtype(0), x);
  const PartialShape n{x.has_rank() ? x[x.rank() - 1] : kAny};
  c.output(c.dtype(0), n);
  c.output(c.dtype(0), n);
  return {};
}

Status infer_batch_norm(InferContext& c) {
  const PartialShape& x = c.shape(0);
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         channel_axis(c.attr<std::string>("data_format"),
                                      x.has_rank() ? x.rank() : 4));
  const int64_t n = x.has_rank() ? x[axis] : kAny;
  constexpr std::string_view kNames[] = {"x", "scale", "offset", "mean",
                                         "variance"};
  const int given = c.attr<bool>("is_training") ? 3 : 5;
  for (int i = 1; i < given; ++i)
    RONDO_RETURN_IF_ERROR(want_vector(c, i, n, kNames[static_cast<size_t>(i)]));
  c.output(c.dtype(0), x);
  for (int i = 1; i < 5; ++i)
    c.output(i < 3 ? c.dtype(0) : statistics_of(c.dtype(0)), PartialShape{n});
  return {};
}

Status infer_batch_norm_grad(InferContext& c) {
  const PartialShape& x = c.shape(1);
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         channel_axis(c.attr<std::string>("data_format"),
                                      x.has_rank() ? x.rank() : 4));
  c.output(c.dtype(0), x);
  for (int i = 1; i < 5; ++i)
    c.output(c.dtype(0), PartialShape{x.has_rank() ? x[axis] : kAny});
  return {};
}

// ---- Second derivatives, in plain operations --------------------------------
//
// The gradient operations take mean and rstd, the reciprocal of the standard
// deviation, from the outputs of those that they belong to; so gradients may
// come in for these outputs as well.

struct Moments {
  Value mean;
  Value rstd;
};

// Over the axes, which stay.
Moments moments_of(Value x, const Ints& axes, double epsilon) {
  const ReduceOptions over{axes, true};
  const Value mean = reduce_mean(x, over);
  const Value variance = reduce_mean(square(x - mean), over);
  return {mean, rsqrt(variance + epsilon)};
}

// The gradient by x of what is normalised over the axes, where `g` is that of
// the result.
Value normalised_gradient(Value g, Value x, const Moments& m,
                          const Ints& axes) {
  const ReduceOptions over{axes, true};
  const Value y = (x - m.mean) * m.rstd;
  return m.rstd * (g - reduce_mean(g, over) - y * reduce_mean(g * y, over));
}

std::vector<Value> cast_all(const std::vector<Value>& values, DType dtype) {
  std::vector<Value> all;
  for (const Value& value : values) all.push_back(cast(value, dtype));
  return all;
}

std::vector<Gradient> layer_norm_grad_gradient(Node& node,
                                               std::span<const Value> grads) {
  const DType dtype = node.input(0).dtype();
  return gradient_by_parts(node, grads, [&](const std::vector<Value>& given) {
    const auto in = cast_all(given, statistics_of(dtype));
    const Value g = in[0], x = in[1], scale = in[2];
    const Moments m{expand_dims(in[3], -1), expand_dims(in[4], -1)};
    const Value y = (x - m.mean) * m.rstd;
    return cast_all({normalised_gradient(g * scale, x, m, {-1}),
                     sum_to_like(g * y, scale), sum_to_like(g, scale)},
                    dtype);
  });
}

std::vector<Gradient> layer_norm_gradient(Node& node,
                                          std::span<const Value> grads) {
  std::vector<Gradient> result(3);
  if (grads[0]) {
    Node& all =
        node.graph().add({.op = "LayerNormGrad",
                          .inputs = {grads[0], node.input(0), node.input(1),
                                     node.output(1), node.output(2)}});
    result = {all.output(0), all.output(1), all.output(2)};
  }
  if (!grads[1] && !grads[2]) return result;
  const Value of_moments[] = {{}, grads[1], grads[2]};
  const auto more =
      gradient_by_parts(node, of_moments, [&](const std::vector<Value>& in) {
        const Moments m = moments_of(cast(in[0], node.outputs()[1].dtype), {-1},
                                     node.attrs().get<double>("epsilon"));
        return std::vector<Value>{
            {}, squeeze(m.mean, {-1}), squeeze(m.rstd, {-1})};
      });
  result[0] = add_gradients(result[0], more[0]);
  return result;
}

// The channels of x, a batch that was normalised.
class Channels {
 public:
  Channels(const Node& node, const PartialShape& x) {
    if (!x.has_rank())
      throw Error(Code::kInvalidArgument,
                  fmt::format("{}: second derivatives need the rank of x",
                              node.describe()));
    const int axis =
        channel_axis(node.attrs().get<std::string>("data_format"), x.rank())
            .value();
    for (int i = 0; i < x.rank(); ++i) {
      if (i != axis) axes_.push_back(i);
      beside_x_.push_back(i == axis ? -1 : 1);
    }
  }
  // All but the channels.
  const Ints& axes() const { return axes_; }
  // A vector of channels so that it broadcasts against x, and back.
  Value spread(Value v) const { return reshape(v, beside_x_); }
  static Value flat(Value v) { return reshape(v, {-1}); }
  Value sum(Value x) const { return reduce_sum(x, {axes_}); }

 private:
  Ints axes_;
  Ints beside_x_;
};

std::vector<Gradient> batch_norm_grad_gradient(Node& node,
                                               std::span<const Value> grads) {
  const DType dtype = node.input(0).dtype();
  const Channels channels(node, node.input(1).shape());
  return gradient_by_parts(node, grads, [&](const std::vector<Value>& given) {
    const auto in = cast_all(given, statistics_of(dtype));
    const Value x = in[1], g = in[0] * channels.spread(in[2]);
    const Moments m{channels.spread(in[3]), channels.spread(in[4])};
    const Value by_scale = channels.sum(in[0] * (x - m.mean) * m.rstd);
    const Value by_offset = channels.sum(in[0]);
    if (node.attrs().get<bool>("is_training"))
      return cast_all({normalised_gradient(g, x, m, channels.axes()), by_scale,
                       by_offset, zeros_like(in[3]), zeros_like(in[4])},
                      dtype);
    return cast_all(
        {g * m.rstd, by_scale, by_offset, neg(channels.sum(g * m.rstd)),
         channels.sum(g * (x - m.mean)) * -0.5 * in[4] * in[4] * in[4]},
        dtype);
  });
}

std::vector<Gradient> saved_moments_gradient(Node& node,
                                             std::span<const Value> grads) {
  const Channels channels(node, node.input(0).shape());
  const DType dtype = statistics_of(node.input(0).dtype());
  const double epsilon = node.attrs().get<double>("epsilon");
  return gradient_by_parts(node, grads, [&](const std::vector<Value>& given) {
    const auto in = cast_all(given, dtype);
    if (!node.attrs().get<bool>("is_training"))
      return std::vector<Value>{{}, {}, {}, in[3], rsqrt(in[4] + epsilon)};
    const Moments m = moments_of(in[0], channels.axes(), epsilon);
    return std::vector<Value>{
        {}, {}, {}, Channels::flat(m.mean), Channels::flat(m.rstd)};
  });
}

// Gradients may come in for the result and, for second derivatives, for the
// last two outputs.
std::vector<Gradient> batch_norm_result_gradient(Node& node,
                                                 std::span<const Value> grads) {
  const bool training = node.attrs().get<bool>("is_training");
  Node& all = node.graph().add(
      {.op = "FusedBatchNormGrad",
       .inputs = {grads[0], node.input(0), node.input(1), node.output(3),
                  node.output(4)},
       .attrs = {{"data_format", node.attrs().get<std::string>("data_format")},
                 {"is_training", training}}});
  std::vector<Gradient> result = {all.output(0), all.output(1), all.output(2)};
  for (int i = 3; i < 5; ++i)
    result.push_back(training ? Gradient() : Gradient(all.output(i)));
  return result;
}

std::vector<Gradient> batch_norm_gradient(Node& node,
                                          std::span<const Value> grads) {
  want_no_gradients_behind(node, grads.first(3), 1);
  std::vector<Gradient> result(5);
  if (grads[0]) result = batch_norm_result_gradient(node, grads);
  if (!grads[3] && !grads[4]) return result;
  const auto more = saved_moments_gradient(node, grads);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = add_gradients(result[i], more[i]);
  return result;
}

AttrSpec epsilon_attr(double value) {
  return {"epsilon", value, false, "added to the variance"};
}
std::vector<AttrSpec> batch_norm_attrs() {
  return {{"data_format", std::string("NHWC"), false,
           "where the channels are: NHWC, in the last axis, or NCHW, in axis "
           "1"},
          {"is_training", true, false,
           "whether x is normalised by its own mean and variance or by those "
           "given"}};
}

}  // namespace

void register_norm_ops(OpRegistry& ops) {
  ops.add({.name = "LayerNorm",
           .doc = "The rows in the last axis of x brought to mean 0 and "
                  "variance 1, then multiplied by scale and added to offset. "
                  "Also gives the rows' means and the reciprocals of their "
                  "standard deviations.",
           .inputs = {{"x", TypeSet::kFloat},
                      {"scale", TypeSet::kFloat},
                      {"offset", TypeSet::kFloat}},
           .outputs = {"y", "mean", "rstd"},
           .attrs = {epsilon_attr(1e-5)},
           .infer = infer_layer_norm,
           .gradient = layer_norm_gradient,
           .cost = cost::per_output<7>});
  ops.add({.name = "LayerNormGrad",
           .doc = "The gradients of LayerNorm.",
           .inputs = {{"grad", TypeSet::kFloat},
                      {"x", TypeSet::kFloat},
                      {"scale", TypeSet::kFloat},
                      {"mean", TypeSet::kFloat, false, 2},
                      {"rstd", TypeSet::kFloat, false, 2}},
           .outputs = {"x_grad", "scale_grad", "offset_grad"},
           .infer = infer_layer_norm_grad,
           .gradient = layer_norm_grad_gradient,
           .cost = cost::per_output<12>});

  std::vector<AttrSpec> attrs = batch_norm_attrs();
  attrs.push_back(epsilon_attr(1e-3));
  ops.add({.name = "FusedBatchNorm",
           .doc = "The channels of x brought to mean 0 and variance 1, then "
                  "multiplied by scale and added to offset. In training by "
                  "the batch's mean and variance, which are also given, the "
                  "variance unbiased; otherwise by those that are inputs. The "
                  "last two outputs are for the gradient.",
           .inputs = {{"x", TypeSet::kFloat},
                      {"scale", TypeSet::kFloat},
                      {"offset", TypeSet::kFloat},
                      {"mean", TypeSet::kFloat},
                      {"variance", TypeSet::kFloat}},
           .outputs = {"y", "batch_mean", "batch_variance", "saved_mean",
                       "saved_rstd"},
           .attrs = std::move(attrs),
           .infer = infer_batch_norm,
           .gradient = batch_norm_gradient,
           .cost = cost::per_output<6>});
  ops.add({.name = "FusedBatchNormGrad",
           .doc = "The gradients of FusedBatchNorm; in training those of mean "
                  "and variance are 0.",
           .inputs = {{"grad", TypeSet::kFloat},
                      {"x", TypeSet::kFloat},
                      {"scale", TypeSet::kFloat},
                      {"saved_mean", TypeSet::kFloat, false, 2},
                      {"saved_rstd", TypeSet::kFloat, false, 2}},
           .outputs = {"x_grad", "scale_grad", "offset_grad", "mean_grad",
                       "variance_grad"},
           .attrs = batch_norm_attrs(),
           .infer = infer_batch_norm_grad,
           .gradient = batch_norm_grad_gradient,
           .cost = cost::per_output<9>});
}

Value layer_norm(Value x, Value scale, Value offset, double epsilon) {
  return make("LayerNorm", {x, scale, offset}, {{"epsilon", epsilon}});
}

BatchNorm fused_batch_norm(const BatchNormInputs& inputs,
                           BatchNormOptions options) {
  if (!inputs.x)
    throw Error(Code::kInvalidArgument, "fused_batch_norm: x is none");
  if (!options.is_training && (!inputs.mean || !inputs.variance))
    throw Error(Code::kInvalidArgument,
                "fused_batch_norm: mean and variance must be given unless "
                "is_training");
  const auto or_empty = [&](Value v) {
    return v ? v : zeros(inputs.x.graph(), {0}, inputs.x.dtype());
  };
  Node& node = inputs.x.graph().add(
      {.op = "FusedBatchNorm",
       .inputs = {inputs.x, inputs.scale, inputs.offset, or_empty(inputs.mean),
                  or_empty(inputs.variance)},
       .attrs = {{"epsilon", options.epsilon},
                 {"data_format", std::move(options.data_format)},
                 {"is_training", options.is_training}}});
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace rondo
