#include "rondo/kernels/cpu/elementwise_loops.h"

// Few enough instruction sets that this compiles quickly; in between, the one
// below serves.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/binary_f32.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/kernels/cpu/math_f32-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> load_rest(D d, const float* x, size_t n) {
  HWY_ALIGN float rest[hn::MaxLanes(D())] = {};
  std::memcpy(rest, x, n * sizeof(float));
  return hn::Load(d, rest);
}

template <class D, class V>
HWY_INLINE void store_rest(D d, V v, float* y, size_t n) {
  HWY_ALIGN float rest[hn::MaxLanes(D())];
  hn::Store(v, d, rest);
  std::memcpy(y, rest, n * sizeof(float));
}

// The loop with each input's step fixed.
template <bool kEachA, bool kEachB, class F>
HWY_INLINE void steps(const BinaryRow& row, F f) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto n = static_cast<size_t>(row.n);
  const auto* a = static_cast<const float*>(row.a);
  const auto* b = static_cast<const float*>(row.b);
  auto* out = static_cast<float*>(row.out);
  const auto one_a = hn::Set(d, a[0]);
  const auto one_b = hn::Set(d, b[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(f(d, kEachA ? hn::LoadU(d, a + i) : one_a,
                 kEachB ? hn::LoadU(d, b + i) : one_b),
               d, out + i);
  if (i == n) return;
  store_rest(d,
             f(d, kEachA ? load_rest(d, a + i, n - i) : one_a,
               kEachB ? load_rest(d, b + i, n - i) : one_b),
             out + i, n - i);
}

template <class F>
HWY_INLINE void each(const BinaryRow& row, F f) {
  if (row.a_step == 0 && row.b_step == 0) return steps<false, false>(row, f);
  if (row.a_step == 0) return steps<false, true>(row, f);
  if (row.b_step == 0) return steps<true, false>(row, f);
  return steps<true, true>(row, f);
}

// For gradients, which do not broadcast.
template <class F>
HWY_INLINE void both(const BinaryRow& row, F f) {
  return steps<true, true>(row, f);
}

#define RONDO_BINARY(Name, ...)                    \
  struct Name {                                    \
    [[maybe_unused]] float alpha;                  \
    template <class D, class V>                    \
    HWY_INLINE V operator()(D d, V a, V b) const { \
      (void)d;                                     \
      __VA_ARGS__                                  \
    }                                              \
  }

RONDO_BINARY(Add, return hn::Add(a, b););
RONDO_BINARY(Sub, return hn::Sub(a, b););
RONDO_BINARY(Mul, return hn::Mul(a, b););
RONDO_BINARY(Div, return hn::Div(a, b););
RONDO_BINARY(FloorDiv, return hn::Floor(hn::Div(a, b)););
// Whichever operand a processor gives when b is NaN, it is NaN.
RONDO_BINARY(Maximum, {
  const V larger = hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b));
  return hn::IfThenElse(hn::IsNaN(a), a, larger);
});
RONDO_BINARY(Minimum, {
  const V smaller = hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b));
  return hn::IfThenElse(hn::IsNaN(a), a, smaller);
});
RONDO_BINARY(SquaredDifference, {
  const V difference = hn::Sub(a, b);
  return hn::Mul(difference, difference);
});
RONDO_BINARY(SqrtGrad, return hn::Div(hn::Mul(a, hn::Set(d, 0.5f)), b););
RONDO_BINARY(RsqrtGrad, {
  const V cube = hn::Mul(hn::Mul(b, b), b);
  return hn::Mul(hn::Mul(a, hn::Set(d, -0.5f)), cube);
});
RONDO_BINARY(ReluGrad, return hn::IfThenElseZero(hn::Gt(b, hn::Zero(d)), a););
RONDO_BINARY(LeakyReluGrad, {
  const V below = hn::Mul(a, hn::Set(d, alpha));
  return hn::IfThenElse(hn::Gt(b, hn::Zero(d)), a, below);
});
RONDO_BINARY(EluGrad, {
  const V below = hn::Mul(a, hn::Mul(exp_of(d, b), hn::Set(d, alpha)));
  return hn::IfThenElse(hn::Gt(b, hn::Zero(d)), a, below);
});
RONDO_BINARY(GeluGrad, {
  const V slope = hn::MulAdd(b, normal_density(d, b), normal_cdf(d, b));
  return hn::Mul(a, slope);
});
// gate + x gate (1 - gate) (2 u)'.
RONDO_BINARY(GeluTanhGrad, {
  const V one = hn::Set(d, 1.0f);
  const V gate = gelu_gate(d, b);
  const V cube = constant(d, 3 * kGeluCube);
  const V du =
      hn::Mul(hn::MulAdd(hn::Mul(b, b), cube, one), constant(d, kGeluSlope));
  const V both = hn::Mul(gate, hn::Sub(one, gate));
  return hn::Mul(a, hn::MulAdd(hn::Mul(b, both), du, gate));
});
RONDO_BINARY(SigmoidGrad,
             { return hn::Mul(a, hn::Mul(b, hn::Sub(hn::Set(d, 1.0f), b))); });
RONDO_BINARY(TanhGrad,
             return hn::Mul(a, hn::NegMulAdd(b, b, hn::Set(d, 1.0f))););
RONDO_BINARY(SoftplusGrad, return hn::Mul(a, sigmoid_of(d, b)););

void run_binary(BinaryOp op, const BinaryRow& row) {
  const auto alpha = static_cast<float>(row.alpha);
  switch (op) {
    case BinaryOp::kAdd: return each(row, Add{alpha});
    case BinaryOp::kSub: return each(row, Sub{alpha});
    case BinaryOp::kMul: return each(row, Mul{alpha});
    case BinaryOp::kDiv: return each(row, Div{alpha});
    case BinaryOp::kFloorDiv: return each(row, FloorDiv{alpha});
    case BinaryOp::kMaximum: return each(row, Maximum{alpha});
    case BinaryOp::kMinimum: return each(row, Minimum{alpha});
    case BinaryOp::kSquaredDifference:
      return each(row, SquaredDifference{alpha});
    case BinaryOp::kSqrtGrad: return both(row, SqrtGrad{alpha});
    case BinaryOp::kRsqrtGrad: return both(row, RsqrtGrad{alpha});
    case BinaryOp::kReluGrad: return both(row, ReluGrad{alpha});
    case BinaryOp::kLeakyReluGrad: return both(row, LeakyReluGrad{alpha});
    case BinaryOp::kEluGrad: return both(row, EluGrad{alpha});
    case BinaryOp::kGeluGrad: return both(row, GeluGrad{alpha});
    case BinaryOp::kGeluTanhGrad: return both(row, GeluTanhGrad{alpha});
    case BinaryOp::kSigmoidGrad: return both(row, SigmoidGrad{alpha});
    case BinaryOp::kTanhGrad: return both(row, TanhGrad{alpha});
    case BinaryOp::kSoftplusGrad: return both(row, SoftplusGrad{alpha});
    case BinaryOp::kMod:
    case BinaryOp::kPow: return;  // of which there are no vectors
  }
}
#undef RONDO_BINARY

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace {

HWY_EXPORT(run_binary);

}  // namespace

void binary_f32(BinaryOp op, const BinaryRow& row) {
  if (row.n <= 0) return;
  if (op == BinaryOp::kPow && row.b_step == 0 && row.a_step == 1 &&
      *static_cast<const float*>(row.b) == 2.0f) {
    unary_f32(UnaryOp::kSquare, static_cast<const float*>(row.a),
              static_cast<float*>(row.out), row.n, 0);
    return;
  }
  if (op == BinaryOp::kPow || op == BinaryOp::kMod)
    return binary_plain<float>(op, row);
  HWY_DYNAMIC_DISPATCH(run_binary)(op, row);
}

}  // namespace rondo
#endif  // HWY_ONCE
