#include "rondo/graph/ops/shaping.h"

#include <algorithm>

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"

namespace rondo {
namespace {

using array::exact_ints;
using array::extents_of;
using array::shape_from;

Status infer_transpose(InferContext& c) {
  const PartialShape& x = c.shape(0);
  const Ints& perm = c.attr<Ints>("perm");
  if (!x.has_rank() && perm.empty()) {
    c.output(c.dtype(0), {});
    return {};
  }
  if (x.has_rank() && !perm.empty() &&
      perm.size() != static_cast<size_t>(x.rank()))
    return error(Code::kInvalidArgument,
                 "perm is {}, but x has rank {}: expected an entry per axis",
                 to_string(AttrValue(perm)), x.rank());
  const int rank = x.has_rank() ? x.rank() : static_cast<int>(perm.size());
  PartialShape y = PartialShape::of_rank(rank);
  std::vector<bool> used(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    const int64_t from =
        perm.empty() ? rank - 1 - i : perm[static_cast<size_t>(i)];
    if (from < 0 || from >= rank || used[static_cast<size_t>(from)])
      return error(Code::kInvalidArgument,
                   "perm is {}, expected each of 0 to {} once",
                   to_string(AttrValue(perm)), rank - 1);
    used[static_cast<size_t>(from)] = true;
    if (x.has_rank()) y.set(i, x[static_cast<int>(from)]);
  }
  c.output(c.dtype(0), y);
  return {};
}

std::vector<Gradient> transpose_gradient(Node& node,
                                         std::span<const Value> grads) {
  const Ints& perm = node.attrs().get<Ints>("perm");
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return {transpose(grads[0], back)};
}

Status infer_expand_dims(InferContext& c) {
  const PartialShape& x = c.shape(0);
  if (!x.has_rank()) {
    c.output(c.dtype(0), {});
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         resolve_axis(c.attr<int64_t>("axis"), x.rank() + 1));
  Ints extents = extents_of(x);
  extents.insert(extents.begin() + axis, 1);
  c.output(c.dtype(0), PartialShape(std::move(extents)));
  return {};
}

Status infer_squeeze(InferContext& c) {
  const PartialShape& x = c.shape(0);
  const Ints& axes = c.attr<Ints>("axes");
  // Without axes an extent that is not known may go or stay.
  if (!x.has_rank() || (axes.empty() && !x.known())) {
    c.output(c.dtype(0), {});
    return {};
  }
  std::vector<bool> out(static_cast<size_t>(x.rank()));
  for (const int64_t wanted : axes) {
    RONDO_ASSIGN_OR_RETURN(const int axis, resolve_axis(wanted, x.rank()));
    if (x[axis] != 1 && x[axis] != kAny)
      return error(Code::kInvalidArgument,
                   "axis {} has extent {}, only axes of extent 1 can be "
                   "squeezed out",
                   axis, x[axis]);
    out[static_cast<size_t>(axis)] = true;
  }
  Ints extents;
  for (int i = 0; i < x.rank(); ++i)
    if (axes.empty() ? x[i] != 1 : !out[static_cast<size_t>(i)])
      extents.push_back(x[i]);
  c.output(c.dtype(0), PartialShape(std::move(extents)));
  return {};
}

std::vector<Gradient> reshape_back(Node& node, std::span<const Value> grads) {
  return {reshape(grads[0], shape_of(node.input(0)))};
}

// The rank of input 0, or by the length of input 1; kAny when neither is known.
Result<int> rank_of_both(InferContext& c, std::string_view name) {
  const PartialShape& x = c.shape(0);
  const PartialShape& other = c.shape(1);
  const int64_t length = other.has_rank() ? other[0] : kAny;
  if (!x.has_rank()) return static_cast<int>(length);
  if (length != kAny && length != x.rank())
    return error(Code::kInvalidArgument, "x has rank {}, but {} is for {} axes",
                 x.rank(), name, length);
  return x.rank();
}

Status infer_tile(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "multiples"));
  RONDO_ASSIGN_OR_RETURN(const int rank, rank_of_both(c, "multiples"));
  if (rank == kAny) {
    c.output(c.dtype(0), {});
    return {};
  }
  PartialShape y = PartialShape::of_rank(rank);
  const auto multiples = exact_ints(c, 1);
  for (int i = 0; multiples && i < rank; ++i) {
    const int64_t times = (*multiples)[static_cast<size_t>(i)];
    if (times < 0)
      return error(Code::kInvalidArgument,
                   "multiples[{}] is {}, expected 0 or more", i, times);
    if (!c.shape(0).has_rank() || c.shape(0)[i] == kAny) continue;
    int64_t extent = 0;
    if (__builtin_mul_overflow(c.shape(0)[i], times, &extent))
      return error(Code::kInvalidArgument,
                   "multiples[{}] is {}: axis {} of {} would be longer than 64 "
                   "bits can say",
                   i, times, i, c.shape(0).to_string());
    y.set(i, extent);
  }
  c.output(c.dtype(0), y);
  return {};
}

std::vector<Gradient> tile_gradient(Node& node, std::span<const Value> grads) {
  const Value x = node.input(0);
  const Value back = make("TileGrad", {grads[0], node.input(1), shape_of(x)});
  return {back, {}};
}

Status infer_tile_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "multiples"));
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 2));
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> tile_grad_gradient(Node& node,
                                         std::span<const Value> grads) {
  return {tile(grads[0], node.input(1)), {}, {}};
}

Status check_mode(const std::string& mode) {
  if (mode == "CONSTANT" || mode == "REFLECT" || mode == "SYMMETRIC") return {};
  return error(Code::kInvalidArgument,
               "mode is \"{}\", expected \"CONSTANT\", \"REFLECT\" or "
               "\"SYMMETRIC\"",
               mode);
}

Status check_paddings_shape(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_mode(c.attr<std::string>("mode")));
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 2, "paddings"));
  const PartialShape& paddings = c.shape(1);
  if (paddings.has_rank() && paddings[1] != kAny && paddings[1] != 2)
    return error(Code::kInvalidArgument,
                 "paddings has shape {}, expected [rank, 2]",
                 paddings.to_string());
  return {};
}

Status infer_pad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_paddings_shape(c));
  RONDO_ASSIGN_OR_RETURN(const int rank, rank_of_both(c, "paddings"));
  if (rank == kAny) {
    c.output(c.dtype(0), {});
    return {};
  }
  const std::string& mode = c.attr<std::string>("mode");
  PartialShape y = PartialShape::of_rank(rank);
  const auto paddings = exact_ints(c, 1);
  for (int i = 0; paddings && i < rank; ++i) {
    const size_t pair = 2 * static_cast<size_t>(i);
    const int64_t before = (*paddings)[pair];
    const int64_t after = (*paddings)[pair + 1];
    if (before < 0 || after < 0)
      return error(Code::kInvalidArgument,
                   "the padding of axis {} is {} and {}, expected 0 or more", i,
                   before, after);
    if (!c.shape(0).has_rank() || c.shape(0)[i] == kAny) continue;
    const int64_t extent = c.shape(0)[i];
    if (before > INT64_MAX - extent || after > INT64_MAX - extent - before)
      return error(Code::kInvalidArgument,
                   "the padding of axis {} is {} and {}: the axis would be "
                   "longer than 64 bits can say",
                   i, before, after);
    const int64_t most =
        std::max<int64_t>(0, mode == "REFLECT" ? extent - 1 : extent);
    if (mode != "CONSTANT" && std::max(before, after) > most)
      return error(Code::kInvalidArgument,
                   "axis {} of extent {} is padded by {} and {}: with mode "
                   "\"{}\" at most {} can be",
                   i, extent, before, after, mode, most);
    y.set(i, before + extent + after);
  }
  c.output(c.dtype(0), y);
  return {};
}

Status infer_pad_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_paddings_shape(c));
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 2));
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> pad_gradient(Node& node, std::span<const Value> grads) {
  const Value back =
      make("PadGrad", {grads[0], node.input(1), shape_of(node.input(0))},
           {{"mode", node.attrs().get<std::string>("mode")}});
  return {back, {}};
}

std::vector<Gradient> pad_grad_gradient(Node& node,
                                        std::span<const Value> grads) {
  return {pad(grads[0], node.input(1),
              {.mode = node.attrs().get<std::string>("mode")}),
          {},
          {}};
}

Status infer_reverse(InferContext& c) {
  const PartialShape& x = c.shape(0);
  if (x.has_rank()) {
    std::vector<bool> seen(static_cast<size_t>(x.rank()));
    for (const int64_t wanted : c.attr<Ints>("axes")) {
      RONDO_ASSIGN_OR_RETURN(const int axis, resolve_axis(wanted, x.rank()));
      if (seen[static_cast<size_t>(axis)])
        return error(Code::kInvalidArgument, "axis {} is named twice", axis);
      seen[static_cast<size_t>(axis)] = true;
    }
  }
  return infer::like_input(c);
}

std::vector<Gradient> reverse_gradient(Node& node,
                                       std::span<const Value> grads) {
  return {reverse(grads[0], node.attrs().get<Ints>("axes"))};
}

Status infer_broadcast_to(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(PartialShape shape, shape_from(c, 1));
  const PartialShape& x = c.shape(0);
  if (shape.has_rank() && x.has_rank()) {
    const int lead = shape.rank() - x.rank();
    bool fits = lead >= 0;
    for (int i = 0; fits && i < x.rank(); ++i) {
      const int64_t to = shape[lead + i];
      fits = x[i] == to || x[i] == 1 || x[i] == kAny || to == kAny;
      if (to == kAny && x[i] > 1) shape.set(lead + i, x[i]);
    }
    if (!fits)
      return error(Code::kInvalidArgument,
                   "the shape {} cannot be broadcast to {}", x.to_string(),
                   shape.to_string());
  }
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> broadcast_to_gradient(Node& node,
                                            std::span<const Value> grads) {
  return {make("SumTo", {grads[0], shape_of(node.input(0))}), {}};
}

constexpr InputSpec kX = {"x", TypeSet::kAnyType, false, 0};
constexpr InputSpec kMultiples = {"multiples", TypeSet::kIndex, false, 0};
constexpr InputSpec kPaddings = {"paddings", TypeSet::kIndex, false, 0};
constexpr InputSpec kShape = {"shape", TypeSet::kIndex, false, 0};

AttrSpec mode_attr() {
  return {"mode", std::string("CONSTANT"), false,
          "what the new elements are: \"CONSTANT\" (`value`), \"REFLECT\" "
          "(mirrored at the edge, which is not repeated) or \"SYMMETRIC\" (the "
          "edge is repeated)"};
}

}  // namespace

void register_shaping_ops(OpRegistry& ops) {
  ops.add({.name = "Transpose",
           .doc = "x with its axes in another order: axis i of the result is "
                  "axis perm[i] of x.",
           .inputs = {kX},
           .outputs = {"y"},
           .attrs = {{"perm", Ints(), false,
                      "the order; empty: the axes reversed"}},
           .infer = infer_transpose,
           .gradient = transpose_gradient,
           .cost = cost::copied});
  ops.add({.name = "ExpandDims",
           .doc = "x with an axis of extent 1 put in.",
           .inputs = {kX},
           .outputs = {"y"},
           .attrs = {{"axis", int64_t{0}, true,
                      "where the new axis is in the result; negative counts "
                      "from its end"}},
           .infer = infer_expand_dims,
           .gradient = reshape_back,
           .cost = cost::none});
  ops.add(
      {.name = "Squeeze",
       .doc = "x without axes of extent 1.",
       .inputs = {kX},
       .outputs = {"y"},
       .attrs = {{"axes", Ints(), false, "which ones; empty: all of extent 1"}},
       .infer = infer_squeeze,
       .gradient = reshape_back,
       .cost = cost::none});
  ops.add({.name = "Tile",
           .doc = "x repeated along every axis: `multiples` says how often, a "
                  "number per axis.",
           .inputs = {kX, kMultiples},
           .outputs = {"y"},
           .infer = infer_tile,
           .gradient = tile_gradient,
           .cost = cost::copied});
  ops.add({.name = "TileGrad",
           .doc =
               "The sum of the copies that Tile made of a tensor of `shape`: "
               "its gradient.",
           .inputs = {{"grad", TypeSet::kNumber, false, 0}, kMultiples, kShape},
           .outputs = {"y"},
           .infer = infer_tile_grad,
           .gradient = tile_grad_gradient,
           .cost = cost::per_input<0, 1>});
  ops.add({.name = "Pad",
           .doc =
               "x with elements put before and after it along every axis. "
               "`paddings` has shape [rank, 2]: how many before and how many "
               "after.",
           .inputs = {kX, kPaddings},
           .outputs = {"y"},
           .attrs = {mode_attr(),
                     {"value", 0.0, false,
                      "the new elements with mode \"CONSTANT\""}},
           .infer = infer_pad,
           .gradient = pad_gradient,
           .cost = cost::copied});
  ops.add({.name = "PadGrad",
           .doc = "What came of each element of a tensor of `shape` that Pad "
                  "padded, added up: its gradient.",
           .inputs = {{"grad", TypeSet::kNumber, false, 0}, kPaddings, kShape},
           .outputs = {"y"},
           .attrs = {mode_attr()},
           .infer = infer_pad_grad,
           .gradient = pad_grad_gradient,
           .cost = cost::per_input<0, 1>});
  ops.add({.name = "Reverse",
           .doc = "x with its elements from the last to the first along some "
                  "axes.",
           .inputs = {kX},
           .outputs = {"y"},
           .attrs = {{"axes", Ints(), true,
                      "along which axes; negative counts from the end"}},
           .infer = infer_reverse,
           .gradient = reverse_gradient,
           .cost = cost::copied});
  ops.add({.name = "BroadcastTo",
           .doc =
               "x repeated to `shape` as element-wise operations do: extents "
               "are counted from the last, and those of extent 1 or missing "
               "repeat.",
           .inputs = {kX, kShape},
           .outputs = {"y"},
           .infer = infer_broadcast_to,
           .gradient = broadcast_to_gradient,
           .cost = cost::copied});
}

Value transpose(Value x, Ints perm) {
  return make("Transpose", {x}, {{"perm", std::move(perm)}});
}
Value expand_dims(Value x, int64_t axis) {
  return make("ExpandDims", {x}, {{"axis", axis}});
}
Value squeeze(Value x, Ints axes) {
  return make("Squeeze", {x}, {{"axes", std::move(axes)}});
}
Value tile(Value x, Value multiples) { return make("Tile", {x, multiples}); }
Value tile(Value x, const Ints& multiples) {
  return tile(x, constant_ints(x.graph(), multiples));
}

Value pad(Value x, Value paddings, PadOptions options) {
  return make("Pad", {x, paddings},
              {{"mode", std::move(options.mode)}, {"value", options.value}});
}

Value pad(Value x, const std::vector<std::pair<int64_t, int64_t>>& by,
          PadOptions options) {
  Ints flat;
  for (const auto& [before, after] : by) {
    flat.push_back(before);
    flat.push_back(after);
  }
  const Value paddings = constant(
      x.graph(), Tensor::of<int64_t>({static_cast<int64_t>(by.size()), 2},
                                     std::span<const int64_t>(flat)));
  return pad(x, paddings, std::move(options));
}

Value reverse(Value x, Ints axes) {
  return make("Reverse", {x}, {{"axes", std::move(axes)}});
}
Value broadcast_to(Value x, Value shape) {
  return make("BroadcastTo", {x, shape});
}
Value broadcast_to(Value x, const Ints& shape) {
  return broadcast_to(x, constant_ints(x.graph(), shape));
}

}  // namespace rondo
