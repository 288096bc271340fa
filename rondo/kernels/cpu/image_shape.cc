#include "rondo/kernels/cpu/image_shape.h"

#include <algorithm>

#include "rondo/base/short_vector.h"

namespace rondo {

Result<Shape> image_shape_in(const Tensor& ints, std::string_view name,
                             int64_t batch) {
  FewInts extents;
  if (ints.dtype() == DType::kI32)
    for (const int32_t i : ints.span<int32_t>()) extents.push_back(i);
  else
    for (const int64_t i : ints.span<int64_t>()) extents.push_back(i);
  if (!extents.empty() && extents[0] == -1) extents[0] = batch;
  if (extents.size() != 4 ||
      std::ranges::any_of(extents, [](int64_t i) { return i < 0; }))
    return error(Code::kInvalidArgument,
                 "{} is {}, expected four extents of 0 or more", name,
                 ints.to_string());
  return Shape(extents);
}

}  // namespace rondo
