#include "rondo/graph/ops/gathering.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/joining.h"
#include "rondo/graph/ops/searching.h"
#include "rondo/graph/ops/slicing.h"

namespace rondo {
namespace {

using array::exact_ints;
using array::extents_of;
using array::shape_from;

// x with `indices` in the place of `axis`.
Result<PartialShape> gathered(const PartialShape& x,
                              const PartialShape& indices, int64_t wanted) {
  if (!x.has_rank() || !indices.has_rank()) return PartialShape();
  if (x.rank() == 0)
    return error(Code::kInvalidArgument,
                 "x is a scalar, so nothing can be looked up in it");
  RONDO_ASSIGN_OR_RETURN(const int axis, resolve_axis(wanted, x.rank()));
  Ints extents = extents_of(x);
  const Ints in_place = extents_of(indices);
  extents.erase(extents.begin() + axis);
  extents.insert(extents.begin() + axis, in_place.begin(), in_place.end());
  return PartialShape(std::move(extents));
}

Status infer_gather(InferContext& c) {
  const int64_t* axis = nullptr;
  if (c.attrs().has("axis")) axis = &c.attr<int64_t>("axis");
  RONDO_ASSIGN_OR_RETURN(PartialShape y,
                         gathered(c.shape(0), c.shape(1), axis ? *axis : 0));
  c.output(c.dtype(0), std::move(y));
  return {};
}

// The gradient of rows that `indices` took out of x: a row per index.
Gradient sparse_rows(Value x, Value indices, Value grad) {
  if (indices.shape().has_rank() && indices.shape().rank() == 1)
    return {grad, indices, shape_of(x)};
  Graph& graph = x.graph();
  const Value flat = reshape(indices, {-1});
  Ints known = {flat.shape()[0]};
  if (x.shape().has_rank())
    known.insert(known.end(), x.shape().extents().begin() + 1,
                 x.shape().extents().end());
  Value shape;
  if (x.shape().has_rank() && array::exact(known))
    shape = constant_ints(graph, known);
  else
    shape = concat({reshape(size_of(indices), {1}), rows(shape_of(x), 1)}, 0);
  const Value by_row = reshape(grad, shape);
  if (x.shape().has_rank()) by_row.node->set_shape(0, PartialShape(known));
  return {by_row, flat, shape_of(x)};
}

std::vector<Gradient> gather_gradient(Node& node,
                                      std::span<const Value> grads) {
  const Value x = node.input(0);
  const Value indices = node.input(1);
  const int64_t axis = node.attrs().get<int64_t>("axis");
  const bool first =
      axis == 0 || (x.shape().has_rank() && axis == -x.shape().rank());
  if (first) return {sparse_rows(x, indices, grads[0]), {}};
  return {dense_rows(grads[0], indices, shape_of(x), axis), {}};
}

std::vector<Gradient> embedding_gradient(Node& node,
                                         std::span<const Value> grads) {
  return {sparse_rows(node.input(0), node.input(1), grads[0]), {}};
}

Status infer_dense_rows(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 2));
  RONDO_ASSIGN_OR_RETURN(const PartialShape expected,
                         gathered(shape, c.shape(1), c.attr<int64_t>("axis")));
  if (!expected.compatible(c.shape(0)))
    return error(Code::kInvalidArgument, "rows has shape {}, expected {}",
                 c.shape(0).to_string(), expected.to_string());
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> dense_rows_gradient(Node& node,
                                          std::span<const Value> grads) {
  return {gather(grads[0], node.input(1), node.attrs().get<int64_t>("axis")),
          {},
          {}};
}

// indices [.., k] and x [e1, .., ek, rest]: [.., rest].
Result<PartialShape> gathered_nd(const PartialShape& x,
                                 const PartialShape& indices) {
  if (!indices.has_rank()) return PartialShape();
  if (indices.rank() == 0)
    return error(Code::kInvalidArgument,
                 "indices is a scalar, expected a last axis with an index for "
                 "each of the first axes");
  const int64_t depth = indices[indices.rank() - 1];
  if (!x.has_rank() || depth == kAny) return PartialShape();
  if (depth > x.rank())
    return error(Code::kInvalidArgument,
                 "the last axis of indices has extent {}, but there are only "
                 "{} axes to index",
                 depth, x.rank());
  Ints extents = extents_of(indices);
  extents.pop_back();
  extents.insert(extents.end(), x.extents().begin() + depth, x.extents().end());
  return PartialShape(std::move(extents));
}

Status infer_gather_nd(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(PartialShape y, gathered_nd(c.shape(0), c.shape(1)));
  c.output(c.dtype(0), std::move(y));
  return {};
}

std::vector<Gradient> gather_nd_gradient(Node& node,
                                         std::span<const Value> grads) {
  return {scatter_nd(node.input(1), grads[0], shape_of(node.input(0))), {}};
}

Status infer_scatter_nd(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 2));
  RONDO_ASSIGN_OR_RETURN(const PartialShape expected,
                         gathered_nd(shape, c.shape(0)));
  if (!expected.compatible(c.shape(1)))
    return error(Code::kInvalidArgument, "updates has shape {}, expected {}",
                 c.shape(1).to_string(), expected.to_string());
  c.output(c.dtype(1), shape);
  return {};
}

std::vector<Gradient> scatter_nd_gradient(Node& node,
                                          std::span<const Value> grads) {
  return {{}, gather_nd(grads[0], node.input(0)), {}};
}

// x and indices agree but for the axis.
Status check_along(const PartialShape& x, const PartialShape& indices,
                   int64_t wanted) {
  if (!x.has_rank() || !indices.has_rank()) return {};
  PartialShape expected = x;
  if (x.rank() == indices.rank()) {
    RONDO_ASSIGN_OR_RETURN(const int axis, resolve_axis(wanted, x.rank()));
    expected.set(axis, kAny);
  }
  if (expected.compatible(indices)) return {};
  return error(Code::kInvalidArgument, "indices has shape {}, expected {}",
               indices.to_string(), expected.to_string());
}

Status infer_take_along_axis(InferContext& c) {
  RONDO_RETURN_IF_ERROR(
      check_along(c.shape(0), c.shape(1), c.attr<int64_t>("axis")));
  c.output(c.dtype(0), c.shape(1));
  return {};
}

std::vector<Gradient> take_along_axis_gradient(Node& node,
                                               std::span<const Value> grads) {
  return {
      make("AddAlongAxis", {grads[0], node.input(1), shape_of(node.input(0))},
           {{"axis", node.attrs().get<int64_t>("axis")}}),
      {}};
}

Status infer_add_along_axis(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 2));
  RONDO_RETURN_IF_ERROR(
      check_along(shape, c.shape(1), c.attr<int64_t>("axis")));
  if (!c.shape(0).compatible(c.shape(1)))
    return error(Code::kInvalidArgument,
                 "updates has shape {}, expected that of indices, {}",
                 c.shape(0).to_string(), c.shape(1).to_string());
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> add_along_axis_gradient(Node& node,
                                              std::span<const Value> grads) {
  return {take_along_axis(grads[0], node.input(1),
                          node.attrs().get<int64_t>("axis")),
          {},
          {}};
}

Status infer_one_hot(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(1, "depth"));
  RONDO_RETURN_IF_ERROR(c.want_scalar(2, "on"));
  RONDO_RETURN_IF_ERROR(c.want_scalar(3, "off"));
  if (!c.shape(0).has_rank()) {
    c.output(c.dtype(2), {});
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(const int axis, resolve_axis(c.attr<int64_t>("axis"),
                                                      c.shape(0).rank() + 1));
  int64_t depth = kAny;
  if (const auto known = exact_ints(c, 1)) {
    depth = known->at(0);
    if (depth < 0)
      return error(Code::kInvalidArgument, "depth is {}, expected 0 or more",
                   depth);
  }
  Ints extents = extents_of(c.shape(0));
  extents.insert(extents.begin() + axis, depth);
  c.output(c.dtype(2), PartialShape(std::move(extents)));
  return {};
}

AttrSpec axis_attr(int64_t value = 0) {
  return {"axis", value, false, "the axis; negative counts from the end"};
}

constexpr InputSpec kX = {"x", TypeSet::kAnyType, false, 0};
constexpr InputSpec kIndices = {"indices", TypeSet::kIndex, false, 0};
constexpr InputSpec kShape = {"shape", TypeSet::kIndex, false, 0};
constexpr InputSpec kUpdates = {"updates", TypeSet::kNumber, false, 0};

void register_rows(OpRegistry& ops) {
  ops.add({.name = "Gather",
           .doc = "The slices of x along an axis that `indices` name. The axes "
                  "of the indices take the place of that axis. The gradient "
                  "along the first axis is sparse.",
           .inputs = {kX, kIndices},
           .outputs = {"y"},
           .attrs = {axis_attr()},
           .infer = infer_gather,
           .gradient = gather_gradient,
           .cost = cost::moved});
  ops.add({.name = "EmbeddingLookup",
           .doc = "The rows of `params` that `ids` name. The gradient is "
                  "sparse: rows and where they belong.",
           .inputs = {{"params", TypeSet::kAnyType, false, 0},
                      {"ids", TypeSet::kIndex, false, 0}},
           .outputs = {"rows"},
           .infer = infer_gather,
           .gradient = embedding_gradient,
           .cost = cost::moved});
  ops.add({.name = "DenseRows",
           .doc =
               "Zeros of `shape` with `rows` added at `indices` along an "
               "axis; rows of the same index add up. Makes a sparse gradient "
               "dense, and is the gradient of Gather.",
           .inputs = {{"rows", TypeSet::kNumber, false, 0}, kIndices, kShape},
           .outputs = {"y"},
           .attrs = {axis_attr()},
           .infer = infer_dense_rows,
           .gradient = dense_rows_gradient,
           .cost = cost::per_input<0, 1>});
}

}  // namespace

void register_gathering_ops(OpRegistry& ops) {
  register_rows(ops);
  ops.add({.name = "GatherNd",
           .doc = "The last axis of `indices` holds an index for each of the "
                  "first axes of x; what is there, element or slice, takes its "
                  "place.",
           .inputs = {kX, kIndices},
           .outputs = {"y"},
           .infer = infer_gather_nd,
           .gradient = gather_nd_gradient,
           .cost = cost::moved});
  ops.add({.name = "ScatterNd",
           .doc = "Zeros of `shape` with `updates` added where `indices`, as "
                  "GatherNd reads them, say; updates of the same place add up.",
           .inputs = {kIndices, kUpdates, kShape},
           .outputs = {"y"},
           .infer = infer_scatter_nd,
           .gradient = scatter_nd_gradient,
           .cost = cost::per_input<1, 1>});
  ops.add({.name = "TakeAlongAxis",
           .doc = "For every place of `indices` the element of x that is at "
                  "that index of the axis and at the same place otherwise.",
           .inputs = {kX, kIndices},
           .outputs = {"y"},
           .attrs = {axis_attr(-1)},
           .infer = infer_take_along_axis,
           .gradient = take_along_axis_gradient,
           .cost = cost::moved});
  ops.add({.name = "AddAlongAxis",
           .doc =
               "Zeros of `shape` with every update added at its index of the "
               "axis and the same place otherwise: the gradient of "
               "TakeAlongAxis.",
           .inputs = {kUpdates, kIndices, kShape},
           .outputs = {"y"},
           .attrs = {axis_attr(-1)},
           .infer = infer_add_along_axis,
           .gradient = add_along_axis_gradient,
           .cost = cost::per_input<0, 1>});
  ops.add({.name = "OneHot",
           .doc = "`on` at the index along a new axis of extent `depth`, `off` "
                  "elsewhere. An index out of range gives `off` alone.",
           .inputs = {kIndices,
                      {"depth", TypeSet::kIndex, false, 0},
                      {"on", TypeSet::kAnyType, false, 1},
                      {"off", TypeSet::kAnyType, false, 1}},
           .outputs = {"y"},
           .attrs = {{"axis", int64_t{-1}, false,
                      "where the new axis is in the result; negative counts "
                      "from its end"}},
           .infer = infer_one_hot,
           .constant = true,
           .cost = cost::copied});
}

Value gather(Value x, Value indices, int64_t axis) {
  return make("Gather", {x, indices}, {{"axis", axis}});
}
Value embedding_lookup(Value params, Value ids) {
  return make("EmbeddingLookup", {params, ids});
}
Value gather_nd(Value x, Value indices) {
  return make("GatherNd", {x, indices});
}
Value scatter_nd(Value indices, Value updates, Value shape) {
  return make("ScatterNd", {indices, updates, shape});
}
Value dense_rows(Value rows, Value indices, Value shape, int64_t axis) {
  return make("DenseRows", {rows, indices, shape}, {{"axis", axis}});
}
Value take_along_axis(Value x, Value indices, int64_t axis) {
  return make("TakeAlongAxis", {x, indices}, {{"axis", axis}});
}

Value boolean_mask(Value x, Value mask, int64_t axis) {
  if (!x || !mask || mask.dtype() != DType::kBool || !mask.shape().has_rank() ||
      mask.shape().rank() == 0)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("boolean_mask: the mask is {}{}, expected bool of a "
                    "known rank of 1 or more",
                    mask ? name_of(mask.dtype()) : "no value",
                    mask ? mask.shape().to_string() : ""));
  if (axis < 0) {
    if (!x.shape().has_rank())
      throw Error(Code::kInvalidArgument,
                  "boolean_mask: a negative axis needs a tensor of known rank");
    axis = resolve_axis(axis, x.shape().rank()).value();
  }
  const int64_t after = axis + mask.shape().rank();
  // Gives the masked axes as one, and fails where the mask has other extents.
  const Value shape = shape_of(x);
  PartialShape known;
  if (x.shape().has_rank()) {
    Ints extents = extents_of(x.shape());
    if (after > x.shape().rank() ||
        !PartialShape(Ints(extents.begin() + axis, extents.begin() + after))
             .compatible(mask.shape()))
      throw Error(
          Code::kInvalidArgument,
          fmt::format("boolean_mask: a mask of shape {} does not fit a "
                      "tensor of shape {} from axis {} on",
                      mask.shape().to_string(), x.shape().to_string(), axis));
    extents.erase(extents.begin() + axis, extents.begin() + after);
    extents.insert(extents.begin() + axis, mask.shape().count());
    known = PartialShape(std::move(extents));
  }
  Value flat = x;
  if (mask.shape().rank() > 1 || !known.known()) {
    flat = reshape(x, concat({rows(shape, 0, axis), reshape(size_of(mask), {1}),
                              rows(shape, after)},
                             0));
    if (known.has_rank()) flat.node->set_shape(0, known);
  }
  const Value indices = reshape(where(reshape(mask, {-1})), {-1});
  return gather(flat, indices, axis);
}

Value one_hot(Value indices, Value depth, Value on, Value off, int64_t axis) {
  return make("OneHot", {indices, depth, on, off}, {{"axis", axis}});
}

Value one_hot(Value indices, int64_t depth, const OneHotOptions& options) {
  Graph& graph = indices.graph();
  return one_hot(indices,
                 constant(graph, static_cast<double>(depth), DType::kI64),
                 constant(graph, options.on, options.dtype),
                 constant(graph, options.off, options.dtype), options.axis);
}

}  // namespace rondo
