#include <algorithm>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/strided_copy.h"

namespace rondo {
namespace {

using array::ints_of;

// Whether the axes that have more than one element stay in their order, so that
// only the shape changes.
bool keeps_order(const Shape& x, std::span<const int64_t> perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (x[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Status run_transpose(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const Ints& wanted = node.attrs().get<Ints>("perm");
  FewInts perm(wanted.begin(), wanted.end());
  const auto rank = static_cast<size_t>(x.shape().rank());
  if (perm.empty())
    for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  if (perm.size() != rank)
    return error(Code::kInvalidArgument,
                 "perm is {}, but x has shape {}: expected an entry per axis",
                 to_string(AttrValue(wanted)), x.shape().to_string());
  FewInts extents;
  for (const int64_t axis : perm)
    extents.push_back(x.shape()[static_cast<int>(axis)]);
  const Shape shape(extents);
  if (keeps_order(x.shape(), perm)) {
    c.set_output(0, x.reshape(shape));
    return {};
  }
  Tensor& y = c.allocate(0, x.dtype(), shape);
  const auto from = strides_of(x.shape());
  const auto to = strides_of(shape);
  CopyAxes axes;
  for (size_t i = 0; i < rank; ++i)
    axes.push_back({extents[i], from[static_cast<size_t>(perm[i])], to[i]});
  strided_copy(size_of(x.dtype()), x.data(), y.data(), std::move(axes));
  return {};
}

Status run_expand_dims(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         array::axis_of(node, x.shape().rank() + 1));
  FewInts extents(x.shape().extents().begin(), x.shape().extents().end());
  extents.insert(extents.begin() + axis, 1);
  c.set_output(0, x.reshape(Shape(extents)));
  return {};
}

Status run_squeeze(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const Ints& wanted = node.attrs().get<Ints>("axes");
  ShortVector<char> out(static_cast<size_t>(x.shape().rank()));
  for (const int64_t w : wanted) {
    RONDO_ASSIGN_OR_RETURN(const int axis, resolve_axis(w, x.shape().rank()));
    if (x.shape()[axis] != 1)
      return error(Code::kInvalidArgument,
                   "axis {} of {} has extent {}, only axes of extent 1 can be "
                   "squeezed out",
                   axis, x.shape().to_string(), x.shape()[axis]);
    out[static_cast<size_t>(axis)] = 1;
  }
  FewInts extents;
  for (int i = 0; i < x.shape().rank(); ++i)
    if (wanted.empty() ? x.shape()[i] != 1 : !out[static_cast<size_t>(i)])
      extents.push_back(x.shape()[i]);
  c.set_output(0, x.reshape(Shape(extents)));
  return {};
}

Status run_tile(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  const FewInts multiples = ints_of(c.input(1));
  const auto rank = static_cast<size_t>(x.shape().rank());
  if (multiples.size() != rank)
    return error(Code::kInvalidArgument,
                 "multiples has {} entries, expected one for each axis of {}",
                 multiples.size(), x.shape().to_string());
  FewInts extents;
  for (size_t i = 0; i < rank; ++i) {
    if (multiples[i] < 0)
      return error(Code::kInvalidArgument,
                   "multiples[{}] is {}, expected 0 or more", i, multiples[i]);
    extents.push_back(0);
    if (__builtin_mul_overflow(x.shape()[static_cast<int>(i)], multiples[i],
                               &extents.back()))
      return error(Code::kInvalidArgument,
                   "multiples[{}] is {}: axis {} of {} would be longer than 64 "
                   "bits can say",
                   i, multiples[i], i, x.shape().to_string());
  }
  Tensor& y = c.allocate(0, x.dtype(), Shape(extents));
  const auto from = strides_of(x.shape());
  const auto to = strides_of(y.shape());
  CopyAxes axes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = x.shape()[static_cast<int>(i)];
    axes.push_back({multiples[i], 0, extent * to[i]});
    axes.push_back({extent, from[i], to[i]});
  }
  strided_copy(size_of(x.dtype()), x.data(), y.data(), std::move(axes));
  return {};
}

Status run_reverse(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate(0, x.dtype(), x.shape());
  if (x.count() == 0) return {};
  const auto strides = strides_of(x.shape());
  CopyAxes axes;
  for (size_t i = 0; i < strides.size(); ++i)
    axes.push_back({x.shape()[static_cast<int>(i)], strides[i], strides[i]});
  int64_t first = 0;
  for (const int64_t wanted : node.attrs().get<Ints>("axes")) {
    RONDO_ASSIGN_OR_RETURN(const int axis,
                           resolve_axis(wanted, x.shape().rank()));
    CopyAxis& turned = axes[static_cast<size_t>(axis)];
    if (turned.from < 0)
      return error(Code::kInvalidArgument, "axis {} is named twice", axis);
    first += (turned.extent - 1) * turned.from;
    turned.from = -turned.from;
  }
  const auto size = static_cast<int64_t>(size_of(x.dtype()));
  strided_copy(size_of(x.dtype()),
               static_cast<const char*>(x.data()) + first * size, y.data(),
               std::move(axes));
  return {};
}

Status run_broadcast_to(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(1)));
  if (shape == x.shape()) {
    c.set_output(0, x);
    return {};
  }
  const int lead = shape.rank() - x.shape().rank();
  bool fits = lead >= 0;
  for (int i = 0; fits && i < x.shape().rank(); ++i)
    fits = x.shape()[i] == shape[lead + i] || x.shape()[i] == 1;
  if (!fits)
    return error(Code::kInvalidArgument,
                 "the shape {} cannot be broadcast to {}",
                 x.shape().to_string(), shape.to_string());
  Tensor& y = c.allocate(0, x.dtype(), shape);
  const auto from = strides_of(x.shape());
  const auto to = strides_of(shape);
  CopyAxes axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const int at = i - lead;
    const bool repeats = at < 0 || x.shape()[at] == 1;
    axes.push_back({shape[i], repeats ? 0 : from[static_cast<size_t>(at)],
                    to[static_cast<size_t>(i)]});
  }
  strided_copy(size_of(x.dtype()), x.data(), y.data(), std::move(axes));
  return {};
}

}  // namespace

void register_shaping_kernels(KernelRegistry& kernels) {
  kernels.add("Transpose", "cpu", from_function(run_transpose));
  kernels.add("ExpandDims", "cpu", from_function(run_expand_dims));
  kernels.add("Squeeze", "cpu", from_function(run_squeeze));
  kernels.add("Tile", "cpu", from_function(run_tile));
  kernels.add("Reverse", "cpu", from_function(run_reverse));
  kernels.add("BroadcastTo", "cpu", from_function(run_broadcast_to));
}

}  // namespace rondo
