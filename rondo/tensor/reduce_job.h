// ReduceJob: what one run of a reduction loop works on. Internal to tensor/.
#pragma once

#include <cstddef>

namespace rondo {

// out[j][i] = (in[0][i] op in[1][i] op ...) * scale for i in [begin, end).
struct ReduceJob {
  void* const* out;
  const void* const* in;
  size_t outs;
  size_t ins;
  size_t begin;
  size_t end;
  float scale32;  // used by avg only, as is scale64
  double scale64;
  bool streaming;
};

}  // namespace rondo
