// Call: one collective call of this rank, with all its arguments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/collectives/communicator.h"
#include "rondo/collectives/operation.h"

namespace rondo {

struct Call {
  OpTag tag;
  Operation operation = Operation::kNone;
  DType dtype = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  UserReduce user;
  int root = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int64_t in_count = 0;  // elements
  int64_t out_count = 0;
  std::vector<int64_t> send_counts;  // all_to_allv
  std::vector<int64_t> counts;       // allgatherv; what all_to_allv receives
  std::vector<View> views;           // grouped allreduce
  std::vector<Transfer> transfers;   // kMessage
  Duration timeout{};
  Duration total_timeout{};

  bool in_place() const { return in == out; }
  size_t element() const { return size_of(dtype); }
};

// acc = acc op in, by Rondo's operators or the caller's. Only the latter can
// fail; whoever calls this then passes nothing on that depends on it.
Status combine(const Call& call, void* acc, const void* in, int64_t count);

// out[j] = in[0] op in[1] op ... for every j; in avg divided by `ranks`. As
// reduce_many, and for the caller's operators too; what these fail at is not
// stored. `scratch` holds at least kCombineBytes.
inline constexpr size_t kCombineBytes = 64 << 10;
Status combine_many(const Call& call, std::span<void* const> out,
                    std::span<const void* const> in, int64_t count, int ranks,
                    bool streaming, void* scratch);

}  // namespace rondo
