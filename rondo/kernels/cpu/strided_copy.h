// strided_copy: moves elements between two layouts.
//
// Slices, transposes, tiles, joins and broadcasts are all the same loop nest:
// one axis per extent, with a stride in each of the two tensors. What differs
// is only which strides they have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/short_vector.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// Strides in elements; 0 reads an element again, negative goes backward.
struct CopyAxis {
  int64_t extent = 1;
  int64_t from = 0;
  int64_t to = 0;
};

using CopyAxes = ShortVector<CopyAxis>;

// The strides of a row-major tensor.
FewInts strides_of(const Shape& shape);

// For every index of the axes (outermost first) one element of `size` bytes (1,
// 2, 4 or 8) at from + sum(index * from stride) to where `to` says. No element
// may be written twice. On several threads when it is worth it.
void strided_copy(size_t size, const void* from, void* to, CopyAxes axes);
// Sets bytes to 0, on several threads when it is worth it.
void parallel_zero(void* to, size_t bytes);

}  // namespace rondo
