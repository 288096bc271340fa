// Components of elements that a data set makes.
#pragma once

#include <string_view>

#include "rondo/tensor/tensor.h"

namespace rondo {

// Unspecified contents. Small ones are not of the heap that peers share: there
// are many, they are soon copied into a batch, and plain memory is had faster.
Tensor new_component(DType dtype, const Shape& shape);
// A vector of u8.
Tensor bytes_component(std::string_view bytes);

}  // namespace rondo
