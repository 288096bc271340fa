#include "rondo/collectives/call.h"

#include <algorithm>
#include <cstring>

namespace rondo {

Status combine(const Call& call, void* acc, const void* in, int64_t count) {
  if (call.op == ReduceOp::kUser) return call.user(acc, in, count, call.dtype);
  reduce(call.op, call.dtype, acc, in, static_cast<size_t>(count));
  return {};
}

Status combine_many(const Call& call, std::span<void* const> out,
                    std::span<const void* const> in, int64_t count, int ranks,
                    bool streaming, void* scratch) {
  if (call.op != ReduceOp::kUser) {
    reduce_many(call.op, call.dtype, out, in, static_cast<size_t>(count), ranks,
                streaming);
    return {};
  }
  const size_t element = call.element();
  const auto block = static_cast<int64_t>(kCombineBytes / element);
  for (int64_t at = 0; at < count; at += block) {
    const int64_t n = std::min(block, count - at);
    const size_t offset = static_cast<size_t>(at) * element;
    const size_t bytes = static_cast<size_t>(n) * element;
    std::memcpy(scratch, static_cast<const char*>(in[0]) + offset, bytes);
    for (const void* source : in.subspan(1))
      RONDO_RETURN_IF_ERROR(call.user(
          scratch, static_cast<const char*>(source) + offset, n, call.dtype));
    for (void* target : out)
      std::memcpy(static_cast<char*>(target) + offset, scratch, bytes);
  }
  return {};
}

}  // namespace rondo
