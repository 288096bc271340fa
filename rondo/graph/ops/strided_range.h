// StridedRange: what begin, end and strides mean for a tensor of some shape.
#pragma once

#include <span>

#include "rondo/base/short_vector.h"
#include "rondo/graph/node.h"

namespace rondo {

// Bit i is about entry i of begin, end and strides.
struct SliceMasks {
  int64_t begin = 0;        // begins at the edge, whatever begin[i] is
  int64_t end = 0;          // ends at the edge
  int64_t ellipsis = 0;     // stands for all axes that others leave
  int64_t new_axis = 0;     // no axis of x: a new one, of extent 1
  int64_t shrink_axis = 0;  // the axis goes, with only element begin[i] of it

  Attrs attrs() const;
  static SliceMasks of(const Attrs& attrs);
};

struct StridedRange {
  // Of an axis of x: the elements begin, begin + stride, …, `count` of them.
  struct Axis {
    int64_t begin = 0;
    int64_t stride = 1;
    int64_t count = 0;
  };
  ShortVector<Axis> axes;
  FewInts extents;  // of the result: without what shrinks, with new axes
};

// In begin, end and strides: not known while building.
inline constexpr int64_t kLater = INT64_MIN;

// `extents` may have kAny; what depends on that, or on kLater, is kAny.
RONDO_API Result<StridedRange> strided_range(std::span<const int64_t> extents,
                                             std::span<const int64_t> begin,
                                             std::span<const int64_t> end,
                                             std::span<const int64_t> strides,
                                             const SliceMasks& masks);

}  // namespace rondo
