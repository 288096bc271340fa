// GradientBucket: gradients that travel together, one behind the other in
// memory that ranks on one host share.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "rondo/collectives/communicator.h"

namespace rondo::torch {

// Numbers of the parameters by bucket: from the last to the first, which is
// about the order in which the backward pass gives their gradients. A bucket
// has gradients of one dtype, at least one, and more while they fit.
std::vector<std::vector<size_t>> plan_buckets(
    const std::vector<at::Tensor>& parameters, int64_t first_bytes,
    int64_t bytes);

struct GradientBucket {
  // For the gradients of these of the parameters.
  GradientBucket(std::vector<size_t> members,
                 const std::vector<at::Tensor>& parameters);

  std::vector<size_t> members;
  at::Tensor vector;
  // Of the vector, each with the shape and strides of its parameter. For
  // autograd they are tensors of their own, so that programs may detach them.
  std::vector<at::Tensor> views;
  // Of a step.
  size_t missing;
  Work work;
};

}  // namespace rondo::torch
