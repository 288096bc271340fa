// Operation: which collective a rank called, and how it is written in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/tensor/dtype.h"
#include "rondo/tensor/reduce.h"
#include "rondo/transport/shm/board.h"

namespace rondo {

// The numbers travel in OpTag::operation.
enum class Operation : uint8_t {
  kNone = 0,
  kAllreduce = 1,
  kReduce = 2,
  kBroadcast = 3,
  kAllgather = 4,
  kAllgatherv = 5,
  kReduceScatter = 6,
  kGather = 7,
  kScatter = 8,
  kAllToAll = 9,
  kAllToAllv = 10,
  kBarrier = 11,
  kMessage = 12,  // send, recv, sendrecv, batch
  kSplit = 13,
};

std::string_view name_of(Operation operation);
// Whether one rank, the root, gives or gets it all.
bool is_rooted(Operation operation);

// "allreduce #412 (1024 f32, sum)".
std::string describe(const OpTag& tag);
// "allreduce #412".
std::string short_name(const OpTag& tag);

}  // namespace rondo
