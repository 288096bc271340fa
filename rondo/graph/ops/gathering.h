// Looking elements up by index, and putting them back.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

// The slices of x along `axis` that `indices` name; the indices' axes take the
// place of that axis. The gradient along axis 0 is sparse.
RONDO_API Value gather(Value x, Value indices, int64_t axis = 0);
// The rows of params that ids name; the gradient is sparse.
RONDO_API Value embedding_lookup(Value params, Value ids);
// The last axis of `indices` holds an index for each of the first axes of x.
RONDO_API Value gather_nd(Value x, Value indices);
// Zeros of `shape` with `updates` added at `indices`, as gather_nd takes them.
RONDO_API Value scatter_nd(Value indices, Value updates, Value shape);
// Zeros of `shape` with rows added at `indices` along the axis.
RONDO_API Value dense_rows(Value rows, Value indices, Value shape,
                           int64_t axis = 0);
// y[.., j, ..] = x[.., indices[.., j, ..], ..], with j at `axis`; x and indices
// agree in all other extents.
RONDO_API Value take_along_axis(Value x, Value indices, int64_t axis);
// The slices of x where `mask` is true. The mask stands for as many axes of x,
// from `axis` on, as it has; its rank must be known.
RONDO_API Value boolean_mask(Value x, Value mask, int64_t axis = 0);

struct OneHotOptions {
  int64_t axis = -1;  // where the new axis is in the result
  DType dtype = DType::kF32;
  double on = 1;
  double off = 0;
};
// `on` at the index along a new axis of extent `depth`, `off` elsewhere; an
// index out of range gives `off` alone.
RONDO_API Value one_hot(Value indices, int64_t depth,
                        const OneHotOptions& options = {});
RONDO_API Value one_hot(Value indices, Value depth, Value on, Value off,
                        int64_t axis = -1);

}  // namespace rondo
