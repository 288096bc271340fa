#include "rondo/train/data/component.h"

#include <cstring>
#include <memory>

namespace rondo {

Tensor new_component(DType dtype, const Shape& shape) {
  constexpr size_t kSmall = 4096;
  const size_t bytes = static_cast<size_t>(shape.count()) * size_of(dtype);
  if (bytes > kSmall) return Tensor::empty(shape, dtype);
  // Words, so that any element type is aligned.
  return Tensor::adopt(
      std::make_shared_for_overwrite<uint64_t[]>(bytes / sizeof(uint64_t) + 1),
      dtype, shape);
}

Tensor bytes_component(std::string_view bytes) {
  Tensor tensor =
      new_component(DType::kU8, {static_cast<int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace rondo
