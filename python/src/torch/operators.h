// Operators: c10d's as Rondo's, and for which tensors they are defined.
//
// What only travels may be of any dtype (rondo/torch/elements.h); what is
// reduced is checked by reduce_op().
#pragma once

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "rondo/collectives/communicator.h"
#include "rondo/torch/elements.h"

namespace rondo::torch {

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
