// HybridSplit: what of a bucket goes through servers that only reduce, and what
// through the ranks' own allreduce.
//
// n ranks and k servers have links of S bytes a second each way. Of D bytes a
// rank sends the share s to servers, s*D, and of the rest (1-s)*2D(n-1)/n to
// other ranks; a server gets n*s*D/k. Both take the same time, which is the
// least, 2n(n-1)D/((n*n+kn-2k)S), at s = 2k(n-1)/(n*n+kn-2k). k = 0 is the
// ring; from k = n on everything goes through servers, in D/S.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/collectives/communicator.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// The share of servers that takes the least time: from 0 to 1.
RONDO_API double server_share(int ranks, int servers);

// How many bytes a rank sends for each byte of a bucket of which this share
// goes through servers. It receives as many.
RONDO_API double sent_share(int ranks, double server_share);

// How many of a bucket's last elements go through servers. They begin at
// a multiple of 64 bytes; at least one element is left to the ranks, who
// notice by it that one of them is gone, or reduces something else.
RONDO_API int64_t served_elements(int64_t count, DType dtype,
                                  double server_share);

// A bucket, cut.
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
