#include "rondo/kernels/cpu/elementwise_loops.h"

// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/convert16.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include <cstring>

#include "rondo/tensor/reduce_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

template <class L>
HWY_INLINE void widen_all(const uint16_t* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(L::load(d, x + i), d, y + i);
  if (i == n) return;
  uint16_t from[hn::MaxLanes(d)] = {};
  float to[hn::MaxLanes(d)];
  std::memcpy(from, x + i, (n - i) * sizeof(uint16_t));
  hn::StoreU(L::load(d, from), d, to);
  std::memcpy(y + i, to, (n - i) * sizeof(float));
}

template <class L>
HWY_INLINE void narrow_all(const float* x, uint16_t* y, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) L::store(d, hn::LoadU(d, x + i), y + i);
  if (i == n) return;
  float from[hn::MaxLanes(d)] = {};
  uint16_t to[hn::MaxLanes(d)];
  std::memcpy(from, x + i, (n - i) * sizeof(float));
  L::store(d, hn::LoadU(d, from), to);
  std::memcpy(y + i, to, (n - i) * sizeof(uint16_t));
}

void run_widen(bool half, const uint16_t* x, float* y, size_t n) {
  if (half) return widen_all<HalfLanes>(x, y, n);
  widen_all<BFloat16Lanes>(x, y, n);
}

void run_narrow(bool half, const float* x, uint16_t* y, size_t n) {
  if (half) return narrow_all<HalfLanes>(x, y, n);
  narrow_all<BFloat16Lanes>(x, y, n);
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace {

HWY_EXPORT(run_widen);
HWY_EXPORT(run_narrow);

}  // namespace

void widen(DType from, const void* x, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(run_widen)
  (from == DType::kF16, static_cast<const uint16_t*>(x), y,
   static_cast<size_t>(n));
}

void narrow(DType to, const float* x, void* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(run_narrow)
  (to == DType::kF16, x, static_cast<uint16_t*>(y), static_cast<size_t>(n));
}

}  // namespace rondo
#endif  // HWY_ONCE
