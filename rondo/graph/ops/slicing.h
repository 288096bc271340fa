// Parts of a tensor by where they begin and end.
#pragma once

#include <optional>

#include "rondo/graph/graph.h"
#include "rondo/graph/ops/strided_range.h"

namespace rondo {

// `size` elements from `begin` along every axis; size -1: to the end.
RONDO_API Value slice(Value x, Value begin, Value size);
RONDO_API Value slice(Value x, const Ints& begin, const Ints& size);

// x[begin:end:strides] as in NumPy, one entry per axis; axes without an entry
// are taken whole.
RONDO_API Value strided_slice(Value x, Value begin, Value end, Value strides,
                              const SliceMasks& masks = {});
RONDO_API Value strided_slice(Value x, const Ints& begin, const Ints& end,
                              Ints strides = {}, const SliceMasks& masks = {});
// x[i], without its first axis.
RONDO_API Value element(Value x, int64_t i);
// x[begin:end] of the first axis; without an end: to the last.
RONDO_API Value rows(Value x, int64_t begin,
                     std::optional<int64_t> end = std::nullopt);

}  // namespace rondo
