// Allreduce of sparse tensors: every rank gathers everybody's entries and adds
// up those with the same index.
#pragma once

#include <ATen/ATen.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "rondo/collectives/communicator.h"

namespace rondo::torch {

// Throws unless it is a COO tensor on the CPU and the operator is SUM or AVG.
void check_sparse(const at::Tensor& tensor, const c10d::ReduceOp& op);
// In place; the result is coalesced. The tensors may have different numbers of
// entries but must have one shape and dtype.
Status sum_sparse(Communicator& comm, const CallOptions& call,
                  const c10d::ReduceOp& op, const at::Tensor& tensor);

}  // namespace rondo::torch
