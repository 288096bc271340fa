// Reductions of whole tensors over axes, for kernels.
#pragma once

#include <cstdint>

#include "rondo/kernels/cpu/reduce_core.h"
#include "rondo/kernels/kernel.h"

namespace rondo {

// A set of axes: bit i for axis i of a tensor.
using AxisSet = uint64_t;
inline constexpr int kMaxReduceAxes = 32;

inline bool has_axis(AxisSet set, int axis) { return set >> axis & 1; }

// The axes that a list names; none names all. An error for an axis that the
// tensor does not have.
Result<AxisSet> axis_set(const Ints& axes, int rank);
// What is left of `shape` when `reduced` are taken out, or kept with extent 1.
Shape reduced_shape(const Shape& shape, AxisSet reduced, bool keep_dims);
// How many elements become one.
int64_t reduced_count(const Shape& shape, AxisSet reduced);

// out = x reduced over `reduced`, times `scale`, or divided by `divisor` for
// integers. `out` has x's type and the elements of its reduced shape. How the
// work is divided depends on the shape alone, so the bits do not depend on the
// number of threads.
struct ReduceArgs {
  Reduce op = Reduce::kSum;
  AxisSet reduced = 0;
  double scale = 1;
  int64_t divisor = 1;
};
void reduce_tensor(const ReduceArgs& args, const Tensor& x, Tensor& out,
                   KernelContext& c);

}  // namespace rondo
