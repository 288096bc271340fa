#include "rondo/kernels/cpu/reduce_core.h"

// Few enough instruction sets that this compiles quickly; in between, the one
// below serves.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/reduce_f32.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include <cstddef>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each has the value of no elements, what an element counts, and how two are
// combined; the latter for vectors and for single numbers.
struct SumF32 {
  static constexpr float kNone = 0;
  template <class D, class V>
  static HWY_INLINE V take(D, V x) {
    return x;
  }
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::Add(a, b);
  }
  static float take(float x) { return x; }
  static float join(float a, float b) { return a + b; }
};
struct SumSquares : SumF32 {
  template <class D, class V>
  static HWY_INLINE V take(D, V x) {
    return hn::Mul(x, x);
  }
  static float take(float x) { return x * x; }
};
// A NaN is never less than another number, and once there it stays.
struct MaxF32 {
  static constexpr float kNone = -std::numeric_limits<float>::infinity();
  template <class D, class V>
  static HWY_INLINE V take(D, V x) {
    return x;
  }
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
  static float take(float x) { return x; }
  static float join(float a, float b) { return a > b || a != a ? a : b; }
};
struct MinF32 {
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  template <class D, class V>
  static HWY_INLINE V take(D, V x) {
    return x;
  }
  template <class D, class V>
  static HWY_INLINE V join(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
  static float take(float x) { return x; }
  static float join(float a, float b) { return a < b || a != a ? a : b; }
};

// Four vectors of partial results, which are then joined lane by lane.
template <class R>
HWY_INLINE double row(const float* x, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  float total = R::kNone;
  size_t i = 0;
  if (n >= lanes) {
    auto a = hn::Set(d, R::kNone);
    auto b = a;
    auto c = a;
    auto e = a;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      a = R::join(d, a, R::take(d, hn::LoadU(d, x + i)));
      b = R::join(d, b, R::take(d, hn::LoadU(d, x + i + lanes)));
      c = R::join(d, c, R::take(d, hn::LoadU(d, x + i + 2 * lanes)));
      e = R::join(d, e, R::take(d, hn::LoadU(d, x + i + 3 * lanes)));
    }
    for (; i + lanes <= n; i += lanes)
      a = R::join(d, a, R::take(d, hn::LoadU(d, x + i)));
    a = R::join(d, R::join(d, a, b), R::join(d, c, e));
    HWY_ALIGN float each[hn::MaxLanes(d)];
    hn::Store(a, d, each);
    for (size_t half = lanes / 2; half > 0; half /= 2)
      for (size_t k = 0; k < half; ++k)
        each[k] = R::join(each[k], each[k + half]);
    total = each[0];
  }
  for (; i < n; ++i) total = R::join(total, R::take(x[i]));
  return static_cast<double>(total);
}

// Four rows at a time: each total is loaded and stored once for them.
template <class R>
HWY_INLINE void columns(const float* x, size_t rows, size_t stride, size_t n,
                        float* acc) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* p = x + r * stride;
    size_t k = 0;
    for (; k + lanes <= n; k += lanes) {
      const auto first = R::join(d, R::take(d, hn::LoadU(d, p + k)),
                                 R::take(d, hn::LoadU(d, p + stride + k)));
      const auto second =
          R::join(d, R::take(d, hn::LoadU(d, p + 2 * stride + k)),
                  R::take(d, hn::LoadU(d, p + 3 * stride + k)));
      const auto old = hn::LoadU(d, acc + k);
      hn::StoreU(R::join(d, old, R::join(d, first, second)), d, acc + k);
    }
    for (; k < n; ++k) {
      const float first = R::join(R::take(p[k]), R::take(p[stride + k]));
      const float second =
          R::join(R::take(p[2 * stride + k]), R::take(p[3 * stride + k]));
      acc[k] = R::join(acc[k], R::join(first, second));
    }
  }
  for (; r < rows; ++r) {
    const float* p = x + r * stride;
    size_t k = 0;
    for (; k + lanes <= n; k += lanes)
      hn::StoreU(
          R::join(d, hn::LoadU(d, acc + k), R::take(d, hn::LoadU(d, p + k))), d,
          acc + k);
    for (; k < n; ++k) acc[k] = R::join(acc[k], R::take(p[k]));
  }
}

double run_row(Reduce op, const float* x, size_t n) {
  switch (op) {
    case Reduce::kSumSquares: return row<SumSquares>(x, n);
    case Reduce::kMax: return row<MaxF32>(x, n);
    case Reduce::kMin: return row<MinF32>(x, n);
    default: return row<SumF32>(x, n);
  }
}

void run_columns(Reduce op, const float* x, size_t rows, size_t stride,
                 size_t n, float* acc) {
  switch (op) {
    case Reduce::kSumSquares:
      return columns<SumSquares>(x, rows, stride, n, acc);
    case Reduce::kMax: return columns<MaxF32>(x, rows, stride, n, acc);
    case Reduce::kMin: return columns<MinF32>(x, rows, stride, n, acc);
    default: return columns<SumF32>(x, rows, stride, n, acc);
  }
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace {

HWY_EXPORT(run_row);
HWY_EXPORT(run_columns);

}  // namespace

double row_f32(Reduce op, const float* x, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(run_row)(op, x, static_cast<size_t>(n));
}

void columns_f32(Reduce op, const float* x, int64_t rows, int64_t stride,
                 int64_t n, float* acc) {
  HWY_DYNAMIC_DISPATCH(run_columns)
  (op, x, static_cast<size_t>(rows), static_cast<size_t>(stride),
   static_cast<size_t>(n), acc);
}

}  // namespace rondo
#endif  // HWY_ONCE
