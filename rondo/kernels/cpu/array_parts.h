// What the files of the array kernels share.
#pragma once

#include <vector>

#include "rondo/base/function_ref.h"
#include "rondo/base/short_vector.h"
#include "rondo/kernels/kernel.h"
#include "rondo/kernels/kernel_registry.h"

namespace rondo {

void register_joining_kernels(KernelRegistry& kernels);
void register_shaping_kernels(KernelRegistry& kernels);
void register_padding_kernels(KernelRegistry& kernels);
void register_slicing_kernels(KernelRegistry& kernels);
void register_gathering_kernels(KernelRegistry& kernels);
void register_searching_kernels(KernelRegistry& kernels);
void register_making_kernels(KernelRegistry& kernels);

namespace array {

// The integers of a tensor of i32 or i64.
FewInts ints_of(const Tensor& t);
// The shape that a vector of extents gives.
Result<Shape> shape_of(const Tensor& extents);

// A tensor seen from one of its axes.
struct AxisView {
  int64_t outer = 1;   // indices of the axes before it
  int64_t extent = 1;  // its own
  int64_t inner = 1;   // elements behind one index of it
};
AxisView view_of(const Shape& shape, int axis);
// The attribute "axis", resolved.
Result<int> axis_of(const Node& node, int rank);
// The shape with `extent` in the place of the axis.
Shape with_extent(const Shape& shape, int axis, int64_t extent);

// "[1, 2]": where element k of a tensor of this shape is.
std::string place_of(const Shape& shape, int64_t k);
// Input i, i32 or i64, as i64. An error unless each is at least 0 and less than
// `extent`; `what` names what has the extent.
Result<Tensor> checked_indices(KernelContext& c, int i, int64_t extent,
                               FunctionRef<std::string()> what);
// Input i as i64, unchecked.
Tensor as_i64(KernelContext& c, int i);

// f.template operator()<kBytes>() for elements of 1, 2, 4 or 8 bytes, where
// nothing but their size matters.
template <class F>
void dispatch_size(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 4: return f.template operator()<4>();
    default: return f.template operator()<8>();
  }
}
// Every element of t the one at `element`.
void fill(Tensor& t, const void* element);

// Copies row rows[k] of each outer part of x to row k of y: bytes, not
// elements.
void gather_rows(const void* x, void* y, const AxisView& view,
                 std::span<const int64_t> rows, size_t row_bytes);

}  // namespace array
}  // namespace rondo
