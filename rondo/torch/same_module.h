// How the ranks' modules become one: they are compared, and rank 0's values are
// given to all.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/collectives/communicator.h"

namespace rondo::torch {

// Whether every rank has the same lines. If not, every rank gets the same
// error, with the first line in which a rank differs from rank 0, as both have
// it. Collective.
Status check_same_lines(Communicator& comm,
                        const std::vector<std::string>& lines);

// The tensors' elements become rank 0's. Collective.
Status broadcast_tensors(Communicator& comm,
                         const std::vector<at::Tensor>& tensors);

}  // namespace rondo::torch
