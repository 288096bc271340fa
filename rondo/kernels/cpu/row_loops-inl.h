// Loops over vectors, compiled once per instruction set: whole vectors first,
// the rest element by element.
#if defined(RONDO_KERNELS_CPU_ROW_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_ROW_LOOPS_INL_H_
#undef RONDO_KERNELS_CPU_ROW_LOOPS_INL_H_
#else
#define RONDO_KERNELS_CPU_ROW_LOOPS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f(d, i) for the elements from i on that d has lanes for.
template <class T, class F>
HWY_INLINE void each(int64_t n, const F& f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) f(one, i);
}

// The sum of what f(d, i) gives. Two sums go side by side, as one addition
// takes longer than the rest of a short loop.
template <class T, class F>
HWY_INLINE T sum_of(int64_t n, const F& f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto even = hn::Zero(d), odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::Add(even, f(d, i));
    odd = hn::Add(odd, f(d, i + lanes));
  }
  if (i + lanes <= n) {
    even = hn::Add(even, f(d, i));
    i += lanes;
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) sum += hn::GetLane(f(one, i));
  return sum;
}

template <class T>
HWY_INLINE T max_of(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  T max = x[0];
  int64_t i = 0;
  if (lanes <= n) {
    auto most = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= n; i += lanes)
      most = hn::Max(most, hn::LoadU(d, x + i));
    max = hn::GetLane(hn::MaxOfLanes(d, most));
  }
  for (; i < n; ++i) max = std::max(max, x[i]);
  return max;
}

// Highway's gives 0 for NaN, which would hide it.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

// 1 / (1 + exp(-x)), without overflow for either sign.
template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const V one = hn::Set(d, 1);
  const V e = exp_of(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one),
                 hn::Add(one, e));
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
