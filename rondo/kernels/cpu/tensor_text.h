// Elements of tensors for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/tensor/tensor.h"

namespace rondo {

// "[1 2 3...]": the first `most` elements, row after row; -1: all.
std::string first_elements(const Tensor& tensor, int64_t most);
// "[[1 2 ... 9]\n [1 2 ... 9]]": by axes, of each at most so many slices at the
// beginning and at the end; -1: all. A scalar is its element.
std::string nested_elements(const Tensor& tensor, int64_t edge);

}  // namespace rondo
