#include "rondo/graph/ops/basic.h"

#include <algorithm>

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status infer_const(InferContext& c) {
  const Tensor& value = c.attr<Tensor>("value");
  c.output(value.dtype(), value.shape());
  return {};
}

Status infer_placeholder(InferContext& c) {
  c.output(c.attr<DType>("dtype"), c.attr<PartialShape>("shape"));
  return {};
}

// What a vector of extents that is known, or whose length is, says of a shape.
PartialShape shape_from(InferContext& c, int i) {
  if (const auto ints = c.constant_ints(i)) return PartialShape(*ints);
  const PartialShape& shape = c.shape(i);
  if (shape.has_rank() && shape.rank() == 1 && shape[0] != kAny)
    return PartialShape::of_rank(static_cast<int>(shape[0]));
  return {};
}

Status infer_fill(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(0, 1, "shape"));
  RONDO_RETURN_IF_ERROR(c.want_scalar(1, "value"));
  if (const auto ints = c.constant_ints(0))
    for (const int64_t extent : *ints)
      if (extent < kAny)
        return error(Code::kInvalidArgument, "an extent of the shape is {}",
                     extent);
  c.output(c.dtype(1), shape_from(c, 0));
  return {};
}

Status infer_shape(InferContext& c) {
  const PartialShape& x = c.shape(0);
  c.output(DType::kI64, {x.has_rank() ? x.rank() : kAny});
  return {};
}

Status infer_index_scalar(InferContext& c) {
  c.output(DType::kI64, PartialShape::scalar());
  return {};
}

Status infer_reshape(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "shape"));
  const auto wanted = c.constant_ints(1);
  if (!wanted) {
    c.output(c.dtype(0), shape_from(c, 1));
    return {};
  }
  // Where it was computed, several extents may be open.
  const bool is_constant = c.at(1).node->op().name == "Const";
  if (!is_constant && std::ranges::count(*wanted, kAny) > 1) {
    c.output(c.dtype(0), PartialShape(*wanted));
    return {};
  }
  Ints extents = *wanted;
  int rest = -1;
  int64_t product = 1;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < -1 || (extents[i] == -1 && rest >= 0))
      return error(Code::kInvalidArgument,
                   "{} is not a shape to reshape to: expected extents of 0 or "
                   "more, and at most one -1",
                   to_string(AttrValue(*wanted)));
    if (extents[i] == -1)
      rest = static_cast<int>(i);
    else if (__builtin_mul_overflow(product, extents[i], &product))
      return error(Code::kInvalidArgument,
                   "{} is not a shape to reshape to: it has more elements than "
                   "64 bits can count",
                   to_string(AttrValue(*wanted)));
  }
  const int64_t count = c.shape(0).count();
  if (count != kAny) {
    const bool open = !is_constant && product == 0 && count == 0;
    const bool fits = rest < 0 ? product == count
                               : open || (product > 0 && count % product == 0);
    if (!fits)
      return error(Code::kInvalidArgument,
                   "{} elements cannot be given the shape {}", count,
                   to_string(AttrValue(*wanted)));
    if (rest >= 0 && !open)
      extents[static_cast<size_t>(rest)] = count / product;
  }
  c.output(c.dtype(0), PartialShape(std::move(extents)));
  return {};
}

Status infer_cast(InferContext& c) {
  c.output(c.attr<DType>("dtype"), c.shape(0));
  return {};
}

std::vector<Gradient> pass_through(Node&, std::span<const Value> grads) {
  return {grads[0]};
}

std::vector<Gradient> reshape_gradient(Node& node,
                                       std::span<const Value> grads) {
  return {reshape(grads[0], shape_of(node.input(0))), {}};
}

std::vector<Gradient> cast_gradient(Node& node, std::span<const Value> grads) {
  const DType from = node.input(0).dtype();
  if (!contains(TypeSet::kFloat, from)) return {Gradient()};
  return {cast(grads[0], from)};
}

Tensor scalar_tensor(double value, DType dtype) {
  Tensor one = Tensor::full<double>(Shape{}, value);
  if (dtype == DType::kF64) return one;
  Tensor t = Tensor::empty(Shape{}, dtype);
  switch (dtype) {
    case DType::kF64: break;
    case DType::kF32: t.span<float>()[0] = static_cast<float>(value); break;
    case DType::kF16:
      t.span<Half>()[0] = Half::from_float(static_cast<float>(value));
      break;
    case DType::kBF16:
      t.span<BFloat16>()[0] = BFloat16::from_float(static_cast<float>(value));
      break;
    case DType::kI64: t.span<int64_t>()[0] = static_cast<int64_t>(value); break;
    case DType::kI32: t.span<int32_t>()[0] = static_cast<int32_t>(value); break;
    case DType::kI16: t.span<int16_t>()[0] = static_cast<int16_t>(value); break;
    case DType::kI8: t.span<int8_t>()[0] = static_cast<int8_t>(value); break;
    case DType::kU8: t.span<uint8_t>()[0] = static_cast<uint8_t>(value); break;
    case DType::kBool: t.span<bool>()[0] = value != 0; break;
  }
  return t;
}

}  // namespace

void register_basic_ops(OpRegistry& ops) {
  ops.add({.name = "Const",
           .doc = "A tensor that is part of the graph.",
           .outputs = {"output"},
           .attrs = {{"value", Tensor(), true, "its value"}},
           .infer = infer_const,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "Placeholder",
           .doc = "A tensor that every run must be given.",
           .outputs = {"output"},
           .attrs = {{"dtype", DType::kF32, false, "its element type"},
                     {"shape", PartialShape(), false,
                      "what is known of its shape"}},
           .infer = infer_placeholder,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "Fill",
           .doc = "A tensor of the given shape with every element `value`.",
           .inputs = {{"shape", TypeSet::kIndex, false, 0},
                      {"value", TypeSet::kAnyType, false, 0}},
           .outputs = {"output"},
           .infer = infer_fill,
           .constant = true,
           .cost = cost::copied});
  ops.add({.name = "ZerosLike",
           .doc = "Zeros of the shape and type of x.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .constant = true,
           .cost = cost::copied});
  ops.add({.name = "OnesLike",
           .doc = "Ones of the shape and type of x.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .constant = true,
           .cost = cost::copied});
  ops.add({.name = "Identity",
           .doc = "x itself.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .gradient = pass_through,
           .cost = cost::none});
  ops.add({.name = "StopGradient",
           .doc = "x itself; no gradient flows back through it.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "Shape",
           .doc = "The extents of x as a vector of i64.",
           .inputs = {{"x"}},
           .outputs = {"extents"},
           .infer = infer_shape,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "Rank",
           .doc = "The number of extents of x, an i64.",
           .inputs = {{"x"}},
           .outputs = {"rank"},
           .infer = infer_index_scalar,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "Size",
           .doc = "The number of elements of x, an i64.",
           .inputs = {{"x"}},
           .outputs = {"size"},
           .infer = infer_index_scalar,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "Reshape",
           .doc = "The elements of x under another shape. One extent may be "
                  "-1, which means what is left.",
           .inputs = {{"x", TypeSet::kAnyType, false, 0},
                      {"shape", TypeSet::kIndex, false, 0}},
           .outputs = {"y"},
           .infer = infer_reshape,
           .gradient = reshape_gradient,
           .cost = cost::none});
  ops.add({.name = "Cast",
           .doc = "x with its elements converted to another type. Floating "
                  "point becomes integer by cutting off the fraction; bool is "
                  "whether an element is not zero.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .attrs = {{"dtype", DType::kF32, true, "the type to convert to"}},
           .infer = infer_cast,
           .gradient = cast_gradient,
           .cost = cost::per_output<1>});
  ops.add({.name = "NoOp",
           .doc = "Nothing; runs after its control inputs.",
           .infer = infer::nothing,
           .constant = true,
           .cost = cost::none});
}

Value placeholder(Graph& graph, PlaceholderOptions options) {
  return graph
      .add({.op = "Placeholder",
            .attrs = {{"dtype", options.dtype},
                      {"shape", std::move(options.shape)}},
            .name = std::move(options.name)})
      .output();
}

Value constant(Graph& graph, Tensor value, std::string name) {
  return graph
      .add({.op = "Const",
            .attrs = {{"value", std::move(value)}},
            .name = std::move(name)})
      .output();
}

Value constant(Graph& graph, double value, DType dtype) {
  return constant(graph, scalar_tensor(value, dtype));
}

Value constant_ints(Graph& graph, const Ints& values) {
  return constant(graph,
                  Tensor::of<int64_t>({static_cast<int64_t>(values.size())},
                                      std::span<const int64_t>(values)));
}

Value fill(Value shape, Value value) { return make("Fill", {shape, value}); }

Value fill(Graph& graph, const Shape& shape, double value, DType dtype) {
  return fill(constant_ints(
                  graph, Ints(shape.extents().begin(), shape.extents().end())),
              constant(graph, value, dtype));
}

Value zeros_like(Value x) { return make("ZerosLike", {x}); }
Value ones_like(Value x) { return make("OnesLike", {x}); }
Value identity(Value x, std::string name) {
  return make("Identity", {x}, {}, std::move(name));
}
Value stop_gradient(Value x) { return make("StopGradient", {x}); }

Value shape_of(Value x) {
  if (!x.shape().known()) return make("Shape", {x});
  const auto extents = x.shape().extents();
  return constant_ints(x.graph(), Ints(extents.begin(), extents.end()));
}

Value rank_of(Value x) { return make("Rank", {x}); }
Value size_of(Value x) { return make("Size", {x}); }
Value reshape(Value x, Value shape) { return make("Reshape", {x, shape}); }
Value reshape(Value x, const Ints& shape) {
  return reshape(x, constant_ints(x.graph(), shape));
}
Value cast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : make("Cast", {x}, {{"dtype", dtype}});
}

Node& group(Graph& graph, const std::vector<Node*>& nodes, std::string name) {
  return graph.add(
      {.op = "NoOp", .name = std::move(name), .control_inputs = nodes});
}

}  // namespace rondo
