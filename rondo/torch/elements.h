// Elements: a tensor's elements as Rondo sees them.
//
// Rondo knows the real dtypes; what it does not know travels as one that it
// does: a complex number as two real ones, unsigned numbers as signed ones of
// the same width, all else (float8, quantised) as bytes.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "rondo/collectives/communicator.h"

namespace rondo::torch {

struct ElementKind {
  DType dtype;
  int64_t per;  // of Rondo's elements in one
};
ElementKind kind_of(at::ScalarType dtype);

// Of a contiguous tensor.
View view_of(const at::Tensor& tensor);
// How many of Rondo's elements one of the tensor's is.
int64_t per_element(at::ScalarType dtype);
// "Float [2, 3]": what there are.
std::string described(const at::Tensor& tensor);

}  // namespace rondo::torch
