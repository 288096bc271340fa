// Elements: a tensor's elements as Rondo sees them.
//
// Rondo knows the real dtypes; what it does not know travels as one that it
// does: a complex number as two real ones, unsigned numbers as signed ones of
// the same width, all else (float8, quantised) as bytes. What only travels
// needs no more; what is reduced is checked by reduce_op().
#pragma once

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "rondo/collectives/communicator.h"

namespace rondo::torch {

// Of a contiguous tensor.
View view_of(const at::Tensor& tensor);
// How many of Rondo's elements one of the tensor's is.
int64_t per_element(at::ScalarType dtype);

// The operator for elements of this dtype; throws when there is none. What
// PREMUL_SUM multiplies is prepared by scale().
ReduceOp reduce_op(const c10d::ReduceOp& op, at::ScalarType dtype);
// The factor of PREMUL_SUM applied, in place.
void scale(const c10d::ReduceOp& op, at::Tensor& tensor);

// Throws unless Rondo can use it: dense and on the CPU.
void check_dense(const char* operation, const at::Tensor& tensor);
// The only tensor of a list that must have one; throws otherwise.
at::Tensor& only(const char* operation, std::vector<at::Tensor>& tensors);

}  // namespace rondo::torch
