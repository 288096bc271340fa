#include "rondo/graph/ops/conv.h"

#include <algorithm>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status want_image(const PartialShape& shape, std::string_view name) {
  if (!shape.has_rank() || shape.rank() == 4) return {};
  return error(Code::kInvalidArgument, "{} has rank {}, expected 4", name,
               shape.rank());
}

PartialShape with_rank(const PartialShape& shape) {
  return shape.has_rank() ? shape : PartialShape::of_rank(4);
}

// The number of channels out, from what the filter and the groups say.
Result<int64_t> channels_out(int64_t in, const PartialShape& filter,
                             int64_t groups) {
  if (groups < 1)
    return error(Code::kInvalidArgument,
                 "attribute \"groups\" is {}, expected at least 1", groups);
  const int64_t each = filter[2];
  if (in != kAny && each != kAny && in != each * groups)
    return error(Code::kInvalidArgument,
                 "the image has {} channels, but the filter takes {}{}", in,
                 each * groups,
                 groups == 1
                     ? std::string()
                     : fmt::format(" ({} in each of {} groups)", each, groups));
  if (in != kAny && in % groups != 0)
    return error(Code::kInvalidArgument,
                 "the image has {} channels, which {} groups do not divide", in,
                 groups);
  if (filter[3] != kAny && filter[3] % groups != 0)
    return error(Code::kInvalidArgument,
                 "the filter gives {} channels, which {} groups do not divide",
                 filter[3], groups);
  return filter[3];
}

Result<int64_t> depthwise_channels_out(int64_t in, const PartialShape& filter) {
  if (in != kAny && filter[2] != kAny && in != filter[2])
    return error(Code::kInvalidArgument,
                 "the image has {} channels, but the filter takes {}", in,
                 filter[2]);
  const int64_t channels = in != kAny ? in : filter[2];
  return channels == kAny || filter[3] == kAny ? kAny : channels * filter[3];
}

Status check_grad(const PartialShape& expected, const PartialShape& grad) {
  RONDO_RETURN_IF_ERROR(want_image(grad, "grad"));
  if (expected.compatible(grad)) return {};
  return error(Code::kInvalidArgument,
               "grad has shape {}, but the convolution's result is {}",
               grad.to_string(), expected.to_string());
}

template <bool kDepthwise>
Status infer_conv(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(
      PartialShape y,
      conv_output_shape(c.shape(0), c.shape(1), c.attrs(), kDepthwise));
  c.output(c.dtype(0), std::move(y));
  return {};
}

template <bool kDepthwise>
Status infer_backprop_input(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 1, "input_shape"));
  PartialShape x = image_shape_from(c, 0);
  RONDO_RETURN_IF_ERROR(want_image(x, "the image"));
  RONDO_ASSIGN_OR_RETURN(
      const PartialShape y,
      conv_output_shape(x, c.shape(1), c.attrs(), kDepthwise));
  RONDO_RETURN_IF_ERROR(check_grad(y, c.shape(2)));
  if (x[0] == kAny && c.shape(2).has_rank()) x.set(0, c.shape(2)[0]);
  RONDO_ASSIGN_OR_RETURN(const WindowOptions window, window_options(c.attrs()));
  const int channel = window.channel_axis();
  const PartialShape filter = with_rank(c.shape(1));
  if (x[channel] == kAny && filter[2] != kAny)
    x.set(channel, kDepthwise ? filter[2]
                              : filter[2] * c.attrs().get<int64_t>("groups"));
  c.output(c.dtype(1), std::move(x));
  return {};
}

template <bool kDepthwise>
Status infer_backprop_filter(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "filter_shape"));
  PartialShape filter = image_shape_from(c, 1);
  RONDO_RETURN_IF_ERROR(want_image(filter, "the filter"));
  RONDO_ASSIGN_OR_RETURN(
      const PartialShape y,
      conv_output_shape(c.shape(0), filter, c.attrs(), kDepthwise));
  RONDO_RETURN_IF_ERROR(check_grad(y, c.shape(2)));
  c.output(c.dtype(0), std::move(filter));
  return {};
}

// Twice (a product and a sum) the filter at every position of the window.
double flops(const PartialShape& filter, const PartialShape& y,
             const Attrs& attrs) {
  const auto known = [](int64_t extent) {
    return extent == kAny ? 1.0 : static_cast<double>(extent);
  };
  double count = 2;
  if (filter.has_rank())
    for (const int64_t extent : filter.extents()) count *= known(extent);
  if (y.has_rank()) {
    const int channel = attrs.get<std::string>("data_format") == "NHWC" ? 3 : 1;
    for (int i = 0; i < y.rank(); ++i)
      if (i != channel) count *= known(y[i]);
  }
  return count;
}

OpCost conv_cost(const Node& node) {
  return {flops(node.input(1).shape(), node.outputs()[0].shape, node.attrs()),
          cost::all_bytes(node)};
}
OpCost backprop_input_cost(const Node& node) {
  return {flops(node.input(1).shape(), node.input(2).shape(), node.attrs()),
          cost::all_bytes(node)};
}
OpCost backprop_filter_cost(const Node& node) {
  return {flops(node.outputs()[0].shape, node.input(2).shape(), node.attrs()),
          cost::all_bytes(node)};
}

// The three operations are linear in both of their tensors, so each one's
// gradients are the other two.
constexpr std::string_view kForward[] = {"Conv2D", "DepthwiseConv2D"};
constexpr std::string_view kInput[] = {"Conv2DBackpropInput",
                                       "DepthwiseConv2DBackpropInput"};
constexpr std::string_view kFilter[] = {"Conv2DBackpropFilter",
                                        "DepthwiseConv2DBackpropFilter"};

template <bool kDepthwise>
std::vector<Gradient> conv_gradient(Node& node, std::span<const Value> grads) {
  const Value& x = node.input(0);
  const Value& filter = node.input(1);
  return {
      make(kInput[kDepthwise], {shape_of(x), filter, grads[0]}, node.attrs()),
      make(kFilter[kDepthwise], {x, shape_of(filter), grads[0]}, node.attrs())};
}

template <bool kDepthwise>
std::vector<Gradient> backprop_input_gradient(Node& node,
                                              std::span<const Value> grads) {
  const Value& filter = node.input(1);
  return {{},
          make(kFilter[kDepthwise], {grads[0], shape_of(filter), node.input(2)},
               node.attrs()),
          make(kForward[kDepthwise], {grads[0], filter}, node.attrs())};
}

template <bool kDepthwise>
std::vector<Gradient> backprop_filter_gradient(Node& node,
                                               std::span<const Value> grads) {
  const Value& x = node.input(0);
  return {make(kInput[kDepthwise], {shape_of(x), grads[0], node.input(2)},
               node.attrs()),
          {},
          make(kForward[kDepthwise], {x, grads[0]}, node.attrs())};
}

struct ConvDocs {
  std::string_view forward, input, filter;
};

template <bool kDepthwise>
void add_ops(OpRegistry& ops, const ConvDocs& docs) {
  std::vector<AttrSpec> attrs = window_attrs(true);
  if (!kDepthwise) {
    attrs.push_back({"groups", int64_t{1}, false,
                     "how many groups the channels fall into; channels out of "
                     "a group see the channels in of that group only"});
    attrs.push_back({"winograd", true, false,
                     "whether a 3x3 or 5x5 filter may be applied by Winograd's "
                     "minimal filtering: fewer multiplications, and rounding "
                     "errors up to a few times as large"});
  }
  ops.add({.name = kForward[kDepthwise],
           .doc = docs.forward,
           .inputs = {{"x", TypeSet::kFloat}, {"filter", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = attrs,
           .infer = infer_conv<kDepthwise>,
           .gradient = conv_gradient<kDepthwise>,
           .cost = conv_cost});
  ops.add({.name = kInput[kDepthwise],
           .doc = docs.input,
           .inputs = {{"input_shape", TypeSet::kIndex, false, 0},
                      {"filter", TypeSet::kFloat},
                      {"grad", TypeSet::kFloat}},
           .outputs = {"input_grad"},
           .attrs = attrs,
           .infer = infer_backprop_input<kDepthwise>,
           .gradient = backprop_input_gradient<kDepthwise>,
           .cost = backprop_input_cost});
  ops.add({.name = kFilter[kDepthwise],
           .doc = docs.filter,
           .inputs = {{"x", TypeSet::kFloat},
                      {"filter_shape", TypeSet::kIndex, false, 0},
                      {"grad", TypeSet::kFloat}},
           .outputs = {"filter_grad"},
           .attrs = attrs,
           .infer = infer_backprop_filter<kDepthwise>,
           .gradient = backprop_filter_gradient<kDepthwise>,
           .cost = backprop_filter_cost});
}

Attrs attrs_of(const Conv2DOptions& options, bool depthwise) {
  Attrs attrs;
  set_window(attrs, options, true);
  if (!depthwise) {
    attrs.set("groups", options.groups);
    attrs.set("winograd", options.winograd);
  }
  return attrs;
}

template <bool kDepthwise>
Value make_conv(std::string_view op, std::vector<Value> inputs,
                const Conv2DOptions& options) {
  return make(op, std::move(inputs), attrs_of(options, kDepthwise),
              options.name);
}

}  // namespace

Result<PartialShape> conv_output_shape(const PartialShape& x,
                                       const PartialShape& filter,
                                       const Attrs& attrs, bool depthwise) {
  RONDO_ASSIGN_OR_RETURN(const WindowOptions window, window_options(attrs));
  RONDO_RETURN_IF_ERROR(want_image(x, "the image"));
  RONDO_RETURN_IF_ERROR(want_image(filter, "the filter"));
  const PartialShape image = with_rank(x);
  const PartialShape weights = with_rank(filter);
  const int64_t in = image[window.channel_axis()];
  RONDO_ASSIGN_OR_RETURN(
      const int64_t channels,
      depthwise ? depthwise_channels_out(in, weights)
                : channels_out(in, weights, attrs.get<int64_t>("groups")));
  PartialShape y = PartialShape::of_rank(4);
  y.set(0, image[0]);
  y.set(window.channel_axis(), channels);
  for (const int d : {0, 1}) {
    const int axis = window.axis(d);
    RONDO_ASSIGN_OR_RETURN(const WindowAxis positions,
                           window_axis(window, d, image[axis], weights[d]));
    y.set(axis, positions.out);
  }
  return y;
}

void register_conv_ops(OpRegistry& ops) {
  add_ops<false>(
      ops,
      {.forward =
           "The convolution of a batch of images with a filter [height, width, "
           "channels in / groups, channels out]: y[n, i, j, o] is the sum over "
           "the window at i * strides[0], j * strides[1] of x times filter. "
           "The filter is not mirrored.",
       .input = "The gradient of Conv2D by its image, which had the shape "
                "input_shape (whose batch may be -1: that of grad), from the "
                "gradient of its result. Also the transposed convolution.",
       .filter = "The gradient of Conv2D by its filter, which had the shape "
                 "filter_shape, from the gradient of its result."});
  add_ops<true>(
      ops,
      {.forward =
           "A convolution of each channel by itself with a filter [height, "
           "width, channels, multiplier]: channel c of x gives the channels "
           "c * multiplier + m of y.",
       .input =
           "The gradient of DepthwiseConv2D by its image, which had the shape "
           "input_shape (whose batch may be -1: that of grad).",
       .filter = "The gradient of DepthwiseConv2D by its filter, which had the "
                 "shape filter_shape."});
  register_pool_ops(ops);
}

Value conv2d(Value x, Value filter, const Conv2DOptions& options) {
  return make_conv<false>(kForward[0], {x, filter}, options);
}
Value conv2d_backprop_input(Value input_shape, Value filter, Value grad,
                            const Conv2DOptions& options) {
  return make_conv<false>(kInput[0], {input_shape, filter, grad}, options);
}
Value conv2d_backprop_filter(Value x, Value filter_shape, Value grad,
                             const Conv2DOptions& options) {
  return make_conv<false>(kFilter[0], {x, filter_shape, grad}, options);
}
Value depthwise_conv2d(Value x, Value filter, const Conv2DOptions& options) {
  return make_conv<true>(kForward[1], {x, filter}, options);
}
Value depthwise_conv2d_backprop_input(Value input_shape, Value filter,
                                      Value grad,
                                      const Conv2DOptions& options) {
  return make_conv<true>(kInput[1], {input_shape, filter, grad}, options);
}
Value depthwise_conv2d_backprop_filter(Value x, Value filter_shape, Value grad,
                                       const Conv2DOptions& options) {
  return make_conv<true>(kFilter[1], {x, filter_shape, grad}, options);
}

Value conv2d_transpose(Value x, Value filter, Value output_shape,
                       const Conv2DOptions& options) {
  Conv2DOptions named = options;
  if (named.name.empty()) named.name = "Conv2DTranspose";
  return conv2d_backprop_input(output_shape, filter, x, named);
}

Value conv2d_transpose(Value x, Value filter, const Conv2DOptions& options) {
  const auto fail = [](std::string_view what) {
    throw Error(Code::kInvalidArgument,
                fmt::format("conv2d_transpose: {}", what));
  };
  const PartialShape image = with_rank(x.shape());
  const PartialShape weights = with_rank(filter.shape());
  if (image.rank() != 4 || weights.rank() != 4)
    fail(fmt::format("x {} and filter {} must have rank 4", image.to_string(),
                     weights.to_string()));
  Ints shape(4, kAny);
  shape[static_cast<size_t>(options.channel_axis())] =
      weights[2] == kAny ? kAny : weights[2] * options.groups;
  for (const int d : {0, 1}) {
    const int64_t in = image[options.axis(d)];
    const int64_t size = weights[d];
    if (in == kAny || size == kAny)
      fail(
          fmt::format("x {} or filter {} is of unknown height or width: give "
                      "the output_shape",
                      image.to_string(), weights.to_string()));
    const auto i = static_cast<size_t>(d);
    const int64_t reach = (size - 1) * options.dilations[i] + 1;
    int64_t& out = shape[static_cast<size_t>(options.axis(d))];
    if (options.padding == "SAME")
      out = in * options.strides[i];
    else if (options.padding == "EXPLICIT")
      out = (in - 1) * options.strides[i] + reach - options.paddings[2 * i] -
            options.paddings[2 * i + 1];
    else
      out = (in - 1) * options.strides[i] + std::max(reach, options.strides[i]);
  }
  if (std::ranges::count(shape, kAny) > 1)
    fail(fmt::format("filter {} is of unknown channels: give the output_shape",
                     weights.to_string()));
  return conv2d_transpose(x, filter, constant_ints(x.graph(), shape), options);
}

}  // namespace rondo
