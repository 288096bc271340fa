// slice: some bytes of a tensor as a tensor of its own.
#pragma once

#include <memory>

#include "rondo/tensor/tensor.h"

namespace rondo {

// Shares the memory, which lives as long as either.
inline Tensor slice(const Tensor& whole, size_t first_byte, DType dtype,
                    const Shape& shape) {
  auto keeper = std::make_shared<Tensor>(whole);
  char* data = static_cast<char*>(keeper->data()) + first_byte;
  return Tensor::adopt(std::shared_ptr<void>(std::move(keeper), data), dtype,
                       shape);
}

}  // namespace rondo
