#include "rondo/graph/ops/pool.h"

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

Status check_grad(const PartialShape& expected, const PartialShape& shape,
                  std::string_view name) {
  if (expected.compatible(shape)) return {};
  return error(Code::kInvalidArgument,
               "{} has shape {}, but the result of the pooling is {}", name,
               shape.to_string(), expected.to_string());
}

Status infer_max_pool(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape y,
                         pool_output_shape(c.shape(0), c.attrs()));
  c.output(c.dtype(0), y);
  c.output(pool_index_type(c.attrs()), y);
  return {};
}

Status infer_avg_pool(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape y,
                         pool_output_shape(c.shape(0), c.attrs()));
  c.output(c.dtype(0), y);
  return {};
}

Status check_indices(const InferContext& c, int i) {
  const DType wanted = pool_index_type(c.attrs());
  if (c.dtype(i) == wanted) return {};
  return error(Code::kInvalidArgument,
               "where has type {}, expected MaxPool's second output, {}",
               name_of(c.dtype(i)), name_of(wanted));
}

// Of an operation that takes input_shape first and a gradient last.
Status infer_pool_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 1, "input_shape"));
  const int last = c.inputs() - 1;
  PartialShape x = image_shape_from(c, 0);
  RONDO_ASSIGN_OR_RETURN(const PartialShape y, pool_output_shape(x, c.attrs()));
  if (last == 2) {
    RONDO_RETURN_IF_ERROR(check_indices(c, 1));
    RONDO_RETURN_IF_ERROR(check_grad(y, c.shape(1), "where"));
  }
  const PartialShape& grad = c.shape(last);
  RONDO_RETURN_IF_ERROR(check_grad(y, grad, "grad"));
  if (grad.has_rank()) {
    RONDO_ASSIGN_OR_RETURN(const WindowOptions window,
                           window_options(c.attrs()));
    for (const int axis : {0, window.channel_axis()})
      if (x[axis] == kAny) x.set(axis, grad[axis]);
  }
  c.output(c.dtype(last), std::move(x));
  return {};
}

Status infer_max_pool_pick(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape y,
                         pool_output_shape(c.shape(0), c.attrs()));
  RONDO_RETURN_IF_ERROR(check_indices(c, 1));
  RONDO_RETURN_IF_ERROR(check_grad(y, c.shape(1), "where"));
  c.output(c.dtype(0), y);
  return {};
}

std::vector<Gradient> max_pool_gradient(Node& node,
                                        std::span<const Value> grads) {
  if (!grads[0]) return {Gradient()};
  return {make("MaxPoolGrad",
               {shape_of(node.input(0)), node.output(1), grads[0]},
               node.attrs())};
}

std::vector<Gradient> max_pool_grad_gradient(Node& node,
                                             std::span<const Value> grads) {
  return {{}, {}, make("MaxPoolPick", {grads[0], node.input(1)}, node.attrs())};
}

std::vector<Gradient> max_pool_pick_gradient(Node& node,
                                             std::span<const Value> grads) {
  return {
      make("MaxPoolGrad", {shape_of(node.input(0)), node.input(1), grads[0]},
           node.attrs()),
      {}};
}

std::vector<Gradient> avg_pool_gradient(Node& node,
                                        std::span<const Value> grads) {
  return {
      make("AvgPoolGrad", {shape_of(node.input(0)), grads[0]}, node.attrs())};
}

std::vector<Gradient> avg_pool_grad_gradient(Node& node,
                                             std::span<const Value> grads) {
  return {{}, make("AvgPool", {grads[0]}, node.attrs())};
}

// One operation for each element of a window, at each of its positions.
OpCost pool_cost(const Node& node) {
  OpCost cost;
  double largest = 0;
  for (const Value& input : node.inputs())
    cost.bytes += bytes_of({input.dtype(), input.shape()});
  for (const TensorType& output : node.outputs()) {
    cost.bytes += bytes_of(output);
    largest = std::max(
        largest, bytes_of(output) / static_cast<double>(size_of(output.dtype)));
  }
  const Ints& ksize = node.attrs().get<Ints>("ksize");
  cost.flops = largest * static_cast<double>(ksize[0] * ksize[1]);
  return cost;
}

Attrs attrs_of(const PoolOptions& options) {
  Attrs attrs;
  set_window(attrs, options, false);
  attrs.set("ksize", Ints(options.ksize.begin(), options.ksize.end()));
  return attrs;
}

}  // namespace

Result<WindowOptions> pool_window(int rank, const Attrs& attrs) {
  RONDO_ASSIGN_OR_RETURN(const WindowOptions window, window_options(attrs));
  const Ints& ksize = attrs.get<Ints>("ksize");
  if (ksize.size() != 2 || ksize[0] < 1 || ksize[1] < 1 ||
      ksize[0] > INT32_MAX / ksize[1])
    return error(Code::kInvalidArgument,
                 "attribute \"ksize\" is {}, expected the height and width of "
                 "the window",
                 to_string(AttrValue(ksize)));
  // Or there would be windows with nothing but padding.
  for (size_t i = 0; i < 4; ++i)
    if (window.paddings[i] >= ksize[i / 2])
      return error(Code::kInvalidArgument,
                   "explicit_paddings {} must be less than the window {}",
                   to_string(AttrValue(attrs.get<Ints>("explicit_paddings"))),
                   to_string(AttrValue(ksize)));
  if (rank != 4)
    return error(Code::kInvalidArgument, "the image has rank {}, expected 4",
                 rank);
  return window;
}

Result<PartialShape> pool_output_shape(const PartialShape& x,
                                       const Attrs& attrs) {
  RONDO_ASSIGN_OR_RETURN(const WindowOptions window,
                         pool_window(x.has_rank() ? x.rank() : 4, attrs));
  const Ints& ksize = attrs.get<Ints>("ksize");
  const PartialShape image = x.has_rank() ? x : PartialShape::of_rank(4);
  PartialShape y = image;
  for (const int d : {0, 1}) {
    const int axis = window.axis(d);
    RONDO_ASSIGN_OR_RETURN(
        const WindowAxis positions,
        window_axis(window, d, image[axis], ksize[static_cast<size_t>(d)]));
    y.set(axis, positions.out);
  }
  return y;
}

DType pool_index_type(const Attrs& attrs) {
  const Ints& ksize = attrs.get<Ints>("ksize");
  return ksize[0] * ksize[1] <= 256 ? DType::kU8 : DType::kI32;
}

void register_pool_ops(OpRegistry& ops) {
  std::vector<AttrSpec> attrs = window_attrs(false);
  attrs.push_back(
      {"ksize", Ints{2, 2}, true, "height and width of the window"});
  ops.add({.name = "MaxPool",
           .doc = "The largest element of each window of the images x; NaN "
                  "where there is one. The second output says where: row * "
                  "width + column within the window, of the first where there "
                  "are several.",
           .inputs = {{"x", TypeSet::kNumber}},
           .outputs = {"y", "where"},
           .attrs = attrs,
           .infer = infer_max_pool,
           .gradient = max_pool_gradient,
           .cost = pool_cost});
  ops.add({.name = "MaxPoolGrad",
           .doc = "The gradient of MaxPool by its images, which had the shape "
                  "input_shape, from MaxPool's second output and the gradient "
                  "of its first.",
           .inputs = {{"input_shape", TypeSet::kIndex, false, 0},
                      {"where", TypeSet::kInteger, false, 0},
                      {"grad", TypeSet::kNumber, false, 0}},
           .outputs = {"input_grad"},
           .attrs = attrs,
           .infer = infer_pool_grad,
           .gradient = max_pool_grad_gradient,
           .cost = pool_cost});
  ops.add({.name = "MaxPoolPick",
           .doc = "The element of each window of x at the place within the "
                  "window that `where`, MaxPool's second output, says; 0 where "
                  "that is padding. The gradient of MaxPoolGrad.",
           .inputs = {{"x", TypeSet::kNumber, false, 0},
                      {"where", TypeSet::kInteger, false, 0}},
           .outputs = {"y"},
           .attrs = attrs,
           .infer = infer_max_pool_pick,
           .gradient = max_pool_pick_gradient,
           .cost = pool_cost});
  ops.add({.name = "AvgPool",
           .doc = "The average of each window of the images x, of those "
                  "elements that are not padding.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = attrs,
           .infer = infer_avg_pool,
           .gradient = avg_pool_gradient,
           .cost = pool_cost});
  ops.add({.name = "AvgPoolGrad",
           .doc = "The gradient of AvgPool by its images, which had the shape "
                  "input_shape.",
           .inputs = {{"input_shape", TypeSet::kIndex, false, 0},
                      {"grad", TypeSet::kFloat}},
           .outputs = {"input_grad"},
           .attrs = attrs,
           .infer = infer_pool_grad,
           .gradient = avg_pool_grad_gradient,
           .cost = pool_cost});
}

Value max_pool(Value x, const PoolOptions& options) {
  return make("MaxPool", {x}, attrs_of(options), options.name);
}

Value avg_pool(Value x, const PoolOptions& options) {
  return make("AvgPool", {x}, attrs_of(options), options.name);
}

}  // namespace rondo
