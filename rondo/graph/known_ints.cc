#include "rondo/graph/known_ints.h"

#include <algorithm>

#include "rondo/graph/op.h"
#include "rondo/graph/ops/strided_range.h"

namespace rondo {
namespace {

using Known = std::optional<Ints>;

// Programs that compute a shape in more steps than this do without.
constexpr int kDeepest = 16;

Known known(const Value& value, int depth);

Ints ints_of(const Tensor& tensor) {
  Ints ints;
  if (tensor.dtype() == DType::kI32)
    for (const int32_t x : tensor.span<int32_t>()) ints.push_back(x);
  else if (tensor.dtype() == DType::kI64)
    for (const int64_t x : tensor.span<int64_t>()) ints.push_back(x);
  return ints;
}

Known constant(const Value& value) {
  if (value.node->op().name != "Const") return {};
  return ints_of(value.node->attrs().get<Tensor>("value"));
}

bool is_vector(const Value& value) {
  return value.shape().has_rank() && value.shape().rank() == 1;
}

// Concat of vectors, or Stack of scalars: one after the other.
Known joined(const Node& node, int depth) {
  Ints all;
  for (const Value& input : node.inputs()) {
    const PartialShape& shape = input.shape();
    const int rank = node.op().name == "Stack" ? 0 : 1;
    if (!shape.has_rank() || shape.rank() != rank) return {};
    const Known part = known(input, depth);
    if (part)
      all.insert(all.end(), part->begin(), part->end());
    else if (shape.count() != kAny)
      all.insert(all.end(), static_cast<size_t>(shape.count()), kAny);
    else
      return {};
  }
  return all;
}

Known strided(const Node& node, int depth) {
  const Known x = known(node.input(0), depth);
  const Known begin = constant(node.input(1)), end = constant(node.input(2)),
              strides = constant(node.input(3));
  if (!x || !begin || !end || !strides || !is_vector(node.input(0))) return {};
  const int64_t extent[] = {static_cast<int64_t>(x->size())};
  const auto range = strided_range(extent, *begin, *end, *strides,
                                   SliceMasks::of(node.attrs()));
  if (!range.ok() || range->axes.size() != 1) return {};
  Ints picked;
  const StridedRange::Axis& axis = range->axes[0];
  for (int64_t i = 0; i < axis.count; ++i)
    picked.push_back((*x)[static_cast<size_t>(axis.begin + i * axis.stride)]);
  return picked;
}

Known gathered(const Node& node, int depth) {
  const Known x = known(node.input(0), depth);
  const Known at = constant(node.input(1));
  if (!x || !at || !is_vector(node.input(0))) return {};
  Ints picked;
  for (const int64_t i : *at) {
    if (i < 0 || i >= static_cast<int64_t>(x->size())) return {};
    picked.push_back((*x)[static_cast<size_t>(i)]);
  }
  return picked;
}

// Of extents, so what is not known or makes no extent is kAny.
int64_t apply(std::string_view op, int64_t a, int64_t b) {
  if (a < 0 || b < 0) return kAny;
  int64_t y = kAny;
  bool overflow = false;
  if (op == "Add") overflow = __builtin_add_overflow(a, b, &y);
  if (op == "Sub") overflow = __builtin_sub_overflow(a, b, &y);
  if (op == "Mul") overflow = __builtin_mul_overflow(a, b, &y);
  if ((op == "FloorDiv" || op == "Div") && b > 0) y = a / b;
  return overflow ? kAny : std::max(y, kAny);
}

Known arithmetic(const Node& node, int depth) {
  const Known a = known(node.input(0), depth);
  const Known b = known(node.input(1), depth);
  if (!a || !b) return {};
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return {};
  Ints y(a->size() == 1 ? b->size() : a->size());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = apply(node.op().name, (*a)[a->size() == 1 ? 0 : i],
                 (*b)[b->size() == 1 ? 0 : i]);
  return y;
}

Known known(const Value& value, int depth) {
  if (depth == 0 || !contains(TypeSet::kIndex, value.dtype())) return {};
  const Node& node = *value.node;
  const std::string_view op = node.op().name;
  if (op == "Const") return constant(value);
  if (op == "Shape" && node.input(0).shape().has_rank()) {
    const auto extents = node.input(0).shape().extents();
    return Ints(extents.begin(), extents.end());
  }
  if (op == "Size") return Ints{node.input(0).shape().count()};
  if (op == "Rank" && node.input(0).shape().has_rank())
    return Ints{node.input(0).shape().rank()};
  if (op == "Concat" || op == "Stack") return joined(node, depth - 1);
  if (op == "StridedSlice") return strided(node, depth - 1);
  if (op == "Gather") return gathered(node, depth - 1);
  // The same elements in another type or shape.
  if (op == "Cast" || op == "Identity" || op == "Reshape" ||
      op == "ExpandDims" || op == "Squeeze")
    return known(node.input(0), depth - 1);
  if (op == "Add" || op == "Sub" || op == "Mul" || op == "FloorDiv" ||
      op == "Div")
    return arithmetic(node, depth - 1);
  return {};
}

}  // namespace

std::optional<Ints> known_ints(const Value& value) {
  return known(value, kDeepest);
}

}  // namespace rondo
