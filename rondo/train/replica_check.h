// compare_replicas: whether tensors are the same on all ranks.
#pragma once

#include <string>
#include <vector>

#include "rondo/collectives/communicator.h"

namespace rondo {

// Ok, or a mismatch on all ranks that names the tensors and the ranks on which
// they are not what they are on rank 0. Only checksums travel.
Status compare_replicas(Communicator& comm,
                        const std::vector<std::string>& names,
                        const std::vector<Tensor>& tensors);

}  // namespace rondo
