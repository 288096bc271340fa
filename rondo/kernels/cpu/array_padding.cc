#include <algorithm>
#include <limits>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/row_sum.h"
#include "rondo/kernels/cpu/strided_copy.h"

namespace rondo {
namespace {

using array::AxisView;
using array::ints_of;
using array::view_of;
using array::with_extent;

// An element of the type; integers take the nearest that they have.
template <class T>
T element_of(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (value >= static_cast<double>(std::numeric_limits<T>::max()))
      return std::numeric_limits<T>::max();
    if (!(value > static_cast<double>(std::numeric_limits<T>::min())))
      return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  } else {
    return store<T>(static_cast<Computed<T>>(value));
  }
}

// Paddings of every axis, checked against what is padded.
Status check_paddings(const Shape& x, const Tensor& paddings,
                      const std::string& mode) {
  const Shape expected{x.rank(), 2};
  if (paddings.shape() != expected)
    return error(
        Code::kInvalidArgument, "paddings has shape {}, expected {} for {}",
        paddings.shape().to_string(), expected.to_string(), x.to_string());
  const FewInts by = ints_of(paddings);
  for (int i = 0; i < x.rank(); ++i) {
    const size_t pair = 2 * static_cast<size_t>(i);
    const int64_t before = by[pair];
    const int64_t after = by[pair + 1];
    if (before < 0 || after < 0)
      return error(Code::kInvalidArgument,
                   "the padding of axis {} is {} and {}, expected 0 or more", i,
                   before, after);
    if (before > INT64_MAX - x[i] || after > INT64_MAX - x[i] - before)
      return error(Code::kInvalidArgument,
                   "the padding of axis {} is {} and {}: the axis would be "
                   "longer than 64 bits can say",
                   i, before, after);
    const int64_t most =
        std::max<int64_t>(0, mode == "REFLECT" ? x[i] - 1 : x[i]);
    if (mode != "CONSTANT" && std::max(before, after) > most)
      return error(Code::kInvalidArgument,
                   "axis {} of extent {} is padded by {} and {}: with mode "
                   "\"{}\" at most {} can be",
                   i, x[i], before, after, mode, most);
  }
  return {};
}

Shape padded(const Shape& x, const FewInts& by) {
  FewInts extents;
  for (size_t i = 0; i < static_cast<size_t>(x.rank()); ++i)
    extents.push_back(by[2 * i] + x[static_cast<int>(i)] + by[2 * i + 1]);
  return Shape(extents);
}

// Which element of an axis each element of the padded axis mirrors.
Ints mirrored(int64_t before, int64_t extent, int64_t after, bool edge) {
  Ints map;
  for (int64_t j = -before; j < extent + after; ++j) {
    if (j < 0)
      map.push_back(edge ? -j - 1 : -j);
    else if (j < extent)
      map.push_back(j);
    else
      map.push_back(edge ? 2 * extent - 1 - j : 2 * extent - 2 - j);
  }
  return map;
}

// The padded tensor's elements that are x's own, to or from x.
void move_inside(size_t size, const void* from, void* to, const Shape& x,
                 const Shape& big, const FewInts& by, bool in) {
  const auto small_strides = strides_of(x);
  const auto big_strides = strides_of(big);
  int64_t first = 0;
  CopyAxes axes;
  for (size_t i = 0; i < small_strides.size(); ++i) {
    first += by[2 * i] * big_strides[i];
    axes.push_back({x[static_cast<int>(i)],
                    in ? small_strides[i] : big_strides[i],
                    in ? big_strides[i] : small_strides[i]});
  }
  const int64_t skip = first * static_cast<int64_t>(size);
  strided_copy(size, static_cast<const char*>(from) + (in ? 0 : skip),
               static_cast<char*>(to) + (in ? skip : 0), std::move(axes));
}

// Everything of the padded tensor that is not x's own: for each axis what comes
// before and after it, as wide as the axes behind it and as x before.
void fill_around(Tensor& big, const Shape& x, const FewInts& by,
                 const void* element) {
  const auto strides = strides_of(big.shape());
  const auto size = static_cast<int64_t>(size_of(big.dtype()));
  for (size_t i = 0; i < strides.size(); ++i)
    for (const bool after : {false, true}) {
      int64_t first = 0;
      CopyAxes axes;
      for (size_t j = 0; j < strides.size(); ++j) {
        const int axis = static_cast<int>(j);
        const int64_t begin = j < i             ? by[2 * j]
                              : j == i && after ? by[2 * j] + x[axis]
                                                : 0;
        const int64_t extent = j < i    ? x[axis]
                               : j == i ? by[2 * j + (after ? 1 : 0)]
                                        : big.shape()[axis];
        first += begin * strides[j];
        axes.push_back({extent, 0, strides[j]});
      }
      strided_copy(static_cast<size_t>(size), element,
                   static_cast<char*>(big.data()) + first * size,
                   std::move(axes));
    }
}

Status run_pad(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const std::string& mode = node.attrs().get<std::string>("mode");
  RONDO_RETURN_IF_ERROR(check_paddings(x.shape(), c.input(1), mode));
  const FewInts by = ints_of(c.input(1));
  const Shape shape = padded(x.shape(), by);
  if (mode == "CONSTANT") {
    Tensor& y = c.allocate(0, x.dtype(), shape);
    dispatch_any(x.dtype(), [&]<class T>() {
      const T value = element_of<T>(node.attrs().get<double>("value"));
      fill_around(y, x.shape(), by, &value);
    });
    move_inside(size_of(x.dtype()), x.data(), y.data(), x.shape(), shape, by,
                true);
    return {};
  }
  Tensor y = x;
  for (int i = 0; i < shape.rank(); ++i) {
    const size_t at = 2 * static_cast<size_t>(i);
    if (by[at] == 0 && by[at + 1] == 0) continue;
    const AxisView view = view_of(y.shape(), i);
    Tensor wider = c.scratch(x.dtype(), with_extent(y.shape(), i, shape[i]));
    array::gather_rows(
        y.data(), wider.data(), view,
        mirrored(by[at], view.extent, by[at + 1], mode == "SYMMETRIC"),
        static_cast<size_t>(view.inner) * size_of(x.dtype()));
    y = std::move(wider);
  }
  c.set_output(0, std::move(y));
  return {};
}

// x with axis i folded to `extent`: element j is added to element map[j].
Tensor fold(KernelContext& c, const Tensor& x, int i, int64_t extent,
            const Ints& map) {
  Tensor y = c.scratch(x.dtype(), with_extent(x.shape(), i, extent));
  const AxisView view = view_of(y.shape(), i);
  dispatch_number(x.dtype(), [&]<class T>() {
    array::sum_rows(x.span<T>().data(), y.span<T>().data(), view,
                    std::span<const int64_t>(map));
  });
  return y;
}

Status wrong_grad(const Shape& grad, const Shape& expected) {
  return error(Code::kInvalidArgument, "grad has shape {}, expected {}",
               grad.to_string(), expected.to_string());
}

Status run_pad_grad(const Node& node, KernelContext& c) {
  const Tensor& grad = c.input(0);
  const std::string& mode = node.attrs().get<std::string>("mode");
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(2)));
  RONDO_RETURN_IF_ERROR(check_paddings(shape, c.input(1), mode));
  const FewInts by = ints_of(c.input(1));
  if (grad.shape() != padded(shape, by))
    return wrong_grad(grad.shape(), padded(shape, by));
  if (mode == "CONSTANT") {
    Tensor& y = c.allocate(0, grad.dtype(), shape);
    move_inside(size_of(grad.dtype()), grad.data(), y.data(), shape,
                grad.shape(), by, false);
    return {};
  }
  Tensor y = grad;
  for (int i = 0; i < shape.rank(); ++i) {
    const size_t at = 2 * static_cast<size_t>(i);
    if (by[at] == 0 && by[at + 1] == 0) continue;
    y = fold(c, y, i, shape[i],
             mirrored(by[at], shape[i], by[at + 1], mode == "SYMMETRIC"));
  }
  c.set_output(0, std::move(y));
  return {};
}

Status run_tile_grad(const Node&, KernelContext& c) {
  const Tensor& grad = c.input(0);
  const FewInts multiples = ints_of(c.input(1));
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(2)));
  if (multiples.size() != static_cast<size_t>(shape.rank()))
    return error(Code::kInvalidArgument,
                 "multiples has {} entries, expected one for each axis of {}",
                 multiples.size(), shape.to_string());
  FewInts extents;
  for (int i = 0; i < shape.rank(); ++i)
    extents.push_back(shape[i] * multiples[static_cast<size_t>(i)]);
  if (grad.shape() != Shape(extents))
    return wrong_grad(grad.shape(), Shape(extents));
  Tensor y = grad;
  for (int i = 0; i < shape.rank(); ++i) {
    if (multiples[static_cast<size_t>(i)] == 1) continue;
    Ints map;
    for (int64_t j = 0; j < grad.shape()[i]; ++j) map.push_back(j % shape[i]);
    y = fold(c, y, i, shape[i], map);
  }
  c.set_output(0, std::move(y));
  return {};
}

}  // namespace

void register_padding_kernels(KernelRegistry& kernels) {
  kernels.add("Pad", "cpu", from_function(run_pad));
  kernels.add("PadGrad", "cpu", from_function(run_pad_grad));
  kernels.add("TileGrad", "cpu", from_function(run_tile_grad));
}

}  // namespace rondo
