// Highway compiles this file once per instruction set by including it again;
// the loops are such that the compiler makes vectors of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/pool_channels.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/kernels/cpu/pool.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

void max_channels(const float* HWY_RESTRICT x, int64_t count, int32_t k,
                  float* HWY_RESTRICT best, int32_t* HWY_RESTRICT where) {
  for (int64_t c = 0; c < count; ++c) {
    const float now = x[c];
    const float before = best[c];
    const bool more = (now > before) | (now != now);
    best[c] = more ? now : before;
    where[c] = more ? k : where[c];
  }
}

void add_channels(const float* HWY_RESTRICT x, int64_t count, float scale,
                  float* HWY_RESTRICT sum) {
  for (int64_t c = 0; c < count; ++c) sum[c] += x[c] * scale;
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {

HWY_EXPORT(max_channels);
HWY_EXPORT(add_channels);

void max_channels(const float* x, int64_t count, int32_t k, float* best,
                  int32_t* where) {
  HWY_DYNAMIC_DISPATCH(max_channels)(x, count, k, best, where);
}

void add_channels(const float* x, int64_t count, float scale, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_channels)(x, count, scale, sum);
}

}  // namespace rondo
#endif
