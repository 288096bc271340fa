// Making one tensor of several, and several of one.
#pragma once

#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// One behind the other along an axis; negative axes count from the end.
RONDO_API Value concat(std::vector<Value> values, int64_t axis);
// `num` parts of the same extent along the axis.
RONDO_API std::vector<Value> split(Value x, int64_t num, int64_t axis = 0);
// Parts of these extents along the axis; one may be -1, which means the rest.
RONDO_API std::vector<Value> split(Value x, const Ints& sizes,
                                   int64_t axis = 0);
// Tensors of one shape as the slices of a tensor with one axis more.
RONDO_API Value stack(std::vector<Value> values, int64_t axis = 0);
// The slices of x along the axis, without that axis. `num` says how many where
// the shape does not; 0: the shape does.
RONDO_API std::vector<Value> unstack(Value x, int64_t axis = 0,
                                     int64_t num = 0);

}  // namespace rondo
