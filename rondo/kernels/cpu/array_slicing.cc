#include <algorithm>

#include "rondo/graph/ops/strided_range.h"
#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/strided_copy.h"

namespace rondo {
namespace {

using array::ints_of;

const char* element(const Tensor& t, int64_t i) {
  return static_cast<const char*>(t.data()) +
         i * static_cast<int64_t>(size_of(t.dtype()));
}
char* element(Tensor& t, int64_t i) {
  return static_cast<char*>(t.data()) +
         i * static_cast<int64_t>(size_of(t.dtype()));
}

bool whole(const Shape& x, std::span<const StridedRange::Axis> axes) {
  for (int i = 0; i < x.rank(); ++i) {
    const auto& axis = axes[static_cast<size_t>(i)];
    if (axis.stride != 1 || axis.count != x[i]) return false;
  }
  return true;
}

// The elements of `big` that the axes name to or from `small`, which holds them
// one behind the other.
template <bool kOut>
void move_range(std::conditional_t<kOut, const Tensor, Tensor>& big,
                std::conditional_t<kOut, Tensor, const Tensor>& small,
                std::span<const StridedRange::Axis> axes) {
  const auto strides = strides_of(big.shape());
  CopyAxes copy(axes.size());
  int64_t first = 0;
  int64_t packed = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    if (axes[i].count == 0) return;
    first += axes[i].begin * strides[i];
    const int64_t step = axes[i].stride * strides[i];
    copy[i] = {axes[i].count, kOut ? step : packed, kOut ? packed : step};
    packed *= axes[i].count;
  }
  if constexpr (kOut)
    strided_copy(size_of(big.dtype()), element(big, first), small.data(),
                 std::move(copy));
  else
    strided_copy(size_of(big.dtype()), small.data(), element(big, first),
                 std::move(copy));
}

// begin and size, checked against the shape that is sliced.
Result<ShortVector<StridedRange::Axis>> slice_axes(
    const Shape& x, std::span<const int64_t> begin,
    std::span<const int64_t> size) {
  const auto rank = static_cast<size_t>(x.rank());
  if (begin.size() != rank || size.size() != rank)
    return error(Code::kInvalidArgument,
                 "begin and size have {} and {} entries, expected an entry for "
                 "each axis of {}",
                 begin.size(), size.size(), x.to_string());
  ShortVector<StridedRange::Axis> axes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = x[static_cast<int>(i)];
    const int64_t count = size[i] == -1 ? extent - begin[i] : size[i];
    if (begin[i] < 0 || begin[i] > extent || count < 0 ||
        count > extent - begin[i])
      return error(Code::kInvalidArgument,
                   "begin[{}] is {} and size[{}] is {}, out of range for axis "
                   "{} of extent {}",
                   i, begin[i], i, size[i], i, extent);
    axes.push_back({begin[i], 1, count});
  }
  return axes;
}

Status run_slice(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(
      const auto axes,
      slice_axes(x.shape(), ints_of(c.input(1)), ints_of(c.input(2))));
  if (whole(x.shape(), axes)) {
    c.set_output(0, x);
    return {};
  }
  FewInts extents;
  for (const auto& axis : axes) extents.push_back(axis.count);
  move_range<true>(x, c.allocate(0, x.dtype(), Shape(extents)), axes);
  return {};
}

Status run_slice_grad(const Node&, KernelContext& c) {
  const Tensor& grad = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(2)));
  const auto extents = grad.shape().extents();
  RONDO_ASSIGN_OR_RETURN(const auto axes,
                         slice_axes(shape, ints_of(c.input(1)), extents));
  if (whole(shape, axes)) {
    c.set_output(0, grad);
    return {};
  }
  Tensor& y = c.allocate(0, grad.dtype(), shape);
  parallel_zero(y.data(), y.bytes());
  move_range<false>(y, grad, axes);
  return {};
}

Result<StridedRange> range_of(const Node& node, KernelContext& c,
                              const Shape& shape) {
  FewInts entries[3];
  for (int i = 0; i < 3; ++i) {
    entries[i] = ints_of(c.input(i + 1));
    // The least integer, which means something else, is as far out as the next.
    for (int64_t& entry : entries[i]) entry = std::max(entry, kLater + 1);
  }
  return strided_range(shape.extents(), entries[0], entries[1], entries[2],
                       SliceMasks::of(node.attrs()));
}

Status run_strided_slice(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const StridedRange range,
                         range_of(node, c, x.shape()));
  if (whole(x.shape(), range.axes)) {
    c.set_output(0, x.reshape(Shape(range.extents)));
    return {};
  }
  move_range<true>(x, c.allocate(0, x.dtype(), Shape(range.extents)),
                   range.axes);
  return {};
}

Status run_strided_slice_grad(const Node& node, KernelContext& c) {
  const Tensor& grad = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(4)));
  RONDO_ASSIGN_OR_RETURN(const StridedRange range, range_of(node, c, shape));
  if (grad.shape() != Shape(range.extents))
    return error(Code::kInvalidArgument, "grad has shape {}, expected {}",
                 grad.shape().to_string(), Shape(range.extents).to_string());
  if (whole(shape, range.axes)) {
    c.set_output(0, grad.reshape(shape));
    return {};
  }
  Tensor& y = c.allocate(0, grad.dtype(), shape);
  parallel_zero(y.data(), y.bytes());
  move_range<false>(y, grad, range.axes);
  return {};
}

}  // namespace

void register_slicing_kernels(KernelRegistry& kernels) {
  kernels.add("Slice", "cpu", from_function(run_slice));
  kernels.add("SliceGrad", "cpu", from_function(run_slice_grad));
  kernels.add("StridedSlice", "cpu", from_function(run_strided_slice));
  kernels.add("StridedSliceGrad", "cpu", from_function(run_strided_slice_grad));
}

}  // namespace rondo
