// HybridSplit: a bucket, cut into what goes through servers that only reduce
// and what goes through the ranks' own allreduce.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/collectives/communicator.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

struct HybridSplit {
  std::vector<View> ranks;  // in the tensors' memory
  // Behind each other: a piece of a tensor, in its memory, or a copy of
  // several; empty: nothing.
  Tensor servers;
  bool copied = false;
};

// The last `served` elements of tensors of one type are for servers.
HybridSplit split_bucket(std::span<Tensor> tensors, int64_t served);
// Puts what was copied back to where it came from.
void put_back(const HybridSplit& split, std::span<Tensor> tensors);

}  // namespace rondo
