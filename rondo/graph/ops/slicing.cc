#include "rondo/graph/ops/slicing.h"

#include <algorithm>

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"

namespace rondo {
namespace {

using array::exact_ints;
using array::length_of;
using array::shape_from;

Status want_vectors(const InferContext& c, int first,
                    std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    RONDO_RETURN_IF_ERROR(c.want_rank(first++, 1, name));
  return {};
}

Status infer_slice(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_vectors(c, 1, {"begin", "size"}));
  const PartialShape& x = c.shape(0);
  int64_t rank = x.has_rank() ? x.rank() : kAny;
  for (int i = 1; i <= 2; ++i) {
    const int64_t length = length_of(c, i);
    if (rank != kAny && length != kAny && length != rank)
      return error(Code::kInvalidArgument,
                   "begin and size need an entry per axis: {}, not {}", rank,
                   length);
    if (rank == kAny) rank = length;
  }
  if (rank == kAny) {
    c.output(c.dtype(0), {});
    return {};
  }
  PartialShape y = PartialShape::of_rank(static_cast<int>(rank));
  const auto begin = exact_ints(c, 1);
  const auto size = exact_ints(c, 2);
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t extent = x.has_rank() ? x[i] : kAny;
    const int64_t count = size ? (*size)[at] : kLater;
    const int64_t first = begin ? (*begin)[at] : kLater;
    if (count < -1 && count != kLater)
      return error(Code::kInvalidArgument,
                   "size[{}] is {}, expected 0 or more, or -1 for the rest", i,
                   count);
    if (count >= 0) y.set(i, count);
    if (first == kLater) continue;
    // Without sums, which may be too large.
    const bool fits =
        extent == kAny ||
        (first <= extent && std::max<int64_t>(count, 0) <= extent - first);
    if (first < 0 || !fits)
      return error(Code::kInvalidArgument,
                   "begin[{}] is {} and size[{}] is {}, out of range for axis "
                   "{} of extent {}",
                   i, first, i, count == kLater ? "?" : std::to_string(count),
                   i, extent == kAny ? "?" : std::to_string(extent));
    if (count == -1 && extent != kAny) y.set(i, extent - first);
  }
  c.output(c.dtype(0), y);
  return {};
}

std::vector<Gradient> slice_gradient(Node& node, std::span<const Value> grads) {
  return {make("SliceGrad", {grads[0], node.input(1), shape_of(node.input(0))}),
          {},
          {}};
}

Status infer_slice_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_vectors(c, 1, {"begin", "shape"}));
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 2));
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> slice_grad_gradient(Node& node,
                                          std::span<const Value> grads) {
  return {slice(grads[0], node.input(1), shape_of(node.input(0))), {}, {}};
}

// The integers of input i, kLater where they are not known; nothing where not
// even their number is.
std::optional<Ints> entries_of(const InferContext& c, int i, int64_t length) {
  if (auto ints = exact_ints(c, i)) return ints;
  if (length == kAny) return std::nullopt;
  return Ints(static_cast<size_t>(length), kLater);
}

Status infer_strided_slice(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_vectors(c, 1, {"begin", "end", "strides"}));
  int64_t length = kAny;
  for (int i = 1; i <= 3 && length == kAny; ++i) length = length_of(c, i);
  const auto begin = entries_of(c, 1, length);
  const auto end = entries_of(c, 2, length);
  const auto strides = entries_of(c, 3, length);
  if (!c.shape(0).has_rank() || !begin || !end || !strides) {
    c.output(c.dtype(0), {});
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(StridedRange range,
                         strided_range(c.shape(0).extents(), *begin, *end,
                                       *strides, SliceMasks::of(c.attrs())));
  c.output(c.dtype(0),
           PartialShape(Ints(range.extents.begin(), range.extents.end())));
  return {};
}

std::vector<Gradient> strided_slice_gradient(Node& node,
                                             std::span<const Value> grads) {
  const Value back = make("StridedSliceGrad",
                          {grads[0], node.input(1), node.input(2),
                           node.input(3), shape_of(node.input(0))},
                          SliceMasks::of(node.attrs()).attrs());
  return {back, {}, {}, {}};
}

Status infer_strided_slice_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(
      want_vectors(c, 1, {"begin", "end", "strides", "shape"}));
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape, shape_from(c, 4));
  c.output(c.dtype(0), shape);
  return {};
}

std::vector<Gradient> strided_slice_grad_gradient(
    Node& node, std::span<const Value> grads) {
  return {strided_slice(grads[0], node.input(1), node.input(2), node.input(3),
                        SliceMasks::of(node.attrs())),
          {},
          {},
          {},
          {}};
}

std::vector<AttrSpec> mask_attrs() {
  return {{"begin_mask", int64_t{0}, false,
           "bit i: begin[i] is the edge, whatever it says"},
          {"end_mask", int64_t{0}, false,
           "bit i: end[i] is the edge, whatever it says"},
          {"ellipsis_mask", int64_t{0}, false,
           "bit i: entry i stands for all axes that the others leave"},
          {"new_axis_mask", int64_t{0}, false,
           "bit i: entry i is a new axis of extent 1"},
          {"shrink_axis_mask", int64_t{0}, false,
           "bit i: only element begin[i] is taken, and the axis goes"}};
}

constexpr InputSpec index_input(std::string_view name) {
  return {name, TypeSet::kIndex, false, 0};
}

}  // namespace

void register_slicing_ops(OpRegistry& ops) {
  constexpr InputSpec kX = {"x", TypeSet::kAnyType, false, 0};
  constexpr InputSpec kGrad = {"grad", TypeSet::kAnyType, false, 0};
  ops.add({.name = "Slice",
           .doc = "The part of x of extents `size` that begins at `begin`, "
                  "vectors with an entry per axis. A size of -1 reaches to the "
                  "end.",
           .inputs = {kX, index_input("begin"), index_input("size")},
           .outputs = {"y"},
           .infer = infer_slice,
           .gradient = slice_gradient,
           .cost = cost::moved});
  ops.add({.name = "SliceGrad",
           .doc = "Zeros of `shape` but for `grad`, which begins at `begin`: "
                  "the gradient of Slice.",
           .inputs = {kGrad, index_input("begin"), index_input("shape")},
           .outputs = {"y"},
           .infer = infer_slice_grad,
           .gradient = slice_grad_gradient,
           .cost = cost::copied});
  ops.add({.name = "StridedSlice",
           .doc = "x[begin:end:strides] as NumPy has it: vectors with an entry "
                  "for each of the first axes, the others are taken whole. "
                  "Negative entries count from the end. The masks, bit by bit, "
                  "say what an entry means besides.",
           .inputs = {kX, index_input("begin"), index_input("end"),
                      index_input("strides")},
           .outputs = {"y"},
           .attrs = mask_attrs(),
           .infer = infer_strided_slice,
           .gradient = strided_slice_gradient,
           .cost = cost::moved});
  ops.add({.name = "StridedSliceGrad",
           .doc =
               "Zeros of `shape` but for `grad` where StridedSlice takes its "
               "elements from: its gradient.",
           .inputs = {kGrad, index_input("begin"), index_input("end"),
                      index_input("strides"), index_input("shape")},
           .outputs = {"y"},
           .attrs = mask_attrs(),
           .infer = infer_strided_slice_grad,
           .gradient = strided_slice_grad_gradient,
           .cost = cost::copied});
}

Value slice(Value x, Value begin, Value size) {
  return make("Slice", {x, begin, size});
}

Value slice(Value x, const Ints& begin, const Ints& size) {
  return slice(x, constant_ints(x.graph(), begin),
               constant_ints(x.graph(), size));
}

Value strided_slice(Value x, Value begin, Value end, Value strides,
                    const SliceMasks& masks) {
  return make("StridedSlice", {x, begin, end, strides}, masks.attrs());
}

Value strided_slice(Value x, const Ints& begin, const Ints& end, Ints strides,
                    const SliceMasks& masks) {
  if (strides.empty()) strides.assign(begin.size(), 1);
  Graph& graph = x.graph();
  return strided_slice(x, constant_ints(graph, begin),
                       constant_ints(graph, end), constant_ints(graph, strides),
                       masks);
}

Value element(Value x, int64_t i) {
  return strided_slice(x, {i}, {0}, {1}, {.shrink_axis = 1});
}

Value rows(Value x, int64_t begin, std::optional<int64_t> end) {
  return strided_slice(x, {begin}, {end.value_or(0)}, {1},
                       {.end = end ? 0 : 1});
}

}  // namespace rondo
