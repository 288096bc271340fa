#include "rondo/kernels/cpu/elementwise_loops.h"

// Few enough instruction sets that this compiles quickly; in between, the one
// below serves.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/unary_f32.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/kernels/cpu/math_f32-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {

// The rest of an array goes through a whole vector as well, so that a result
// does not depend on where its element lies.
template <class F>
HWY_INLINE void each(const float* x, float* y, size_t n, F f) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
  std::memcpy(rest, x + i, (n - i) * sizeof(float));
  hn::Store(f(d, hn::Load(d, rest)), d, rest);
  std::memcpy(y + i, rest, (n - i) * sizeof(float));
}

#define RONDO_UNARY(Name, ...)                \
  struct Name {                               \
    [[maybe_unused]] float alpha;             \
    template <class D, class V>               \
    HWY_INLINE V operator()(D d, V x) const { \
      (void)d;                                \
      __VA_ARGS__                             \
    }                                         \
  }

RONDO_UNARY(Neg, return hn::Neg(x););
RONDO_UNARY(Abs, return hn::Abs(x););
RONDO_UNARY(Sign, {
  const V one = hn::Set(d, 1.0f);
  const auto is_signed = hn::Or(hn::Lt(x, hn::Zero(d)), hn::Gt(x, hn::Zero(d)));
  return hn::IfThenElse(is_signed, hn::CopySign(one, x), x);
});
RONDO_UNARY(Exp, return exp_of(d, x););
RONDO_UNARY(Log, return log_of(d, x););
RONDO_UNARY(Log1p, return log1p_of(d, x););
RONDO_UNARY(Sqrt, return hn::Sqrt(x););
RONDO_UNARY(Rsqrt, return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(x)););
RONDO_UNARY(Square, return hn::Mul(x, x););
RONDO_UNARY(Sin, return hn::Sin(d, x););
RONDO_UNARY(Cos, return hn::Cos(d, x););
RONDO_UNARY(Floor, return hn::Floor(x););
RONDO_UNARY(Ceil, return hn::Ceil(x););
RONDO_UNARY(Round, return hn::Round(x););
RONDO_UNARY(Tanh, return tanh_of(d, x););
RONDO_UNARY(Sigmoid, return sigmoid_of(d, x););
RONDO_UNARY(Relu, return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x););
RONDO_UNARY(LeakyRelu, {
  const V below = hn::Mul(x, hn::Set(d, alpha));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
});
RONDO_UNARY(Elu, {
  const V below = hn::Mul(expm1_of(d, x), hn::Set(d, alpha));
  return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
});
// Far below zero the gate is 0, and minus infinity times that would be NaN.
RONDO_UNARY(Gelu, {
  const V y = hn::Mul(x, normal_cdf(d, x));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -30.0f)), y);
});
RONDO_UNARY(GeluTanh, {
  const V y = hn::Mul(x, gelu_gate(d, x));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -30.0f)), y);
});
RONDO_UNARY(Softplus, {
  const V tail = log1p_of(d, exp_of(d, hn::Neg(hn::Abs(x))));
  return hn::Add(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x), tail);
});

void run_unary(UnaryOp op, const float* x, float* y, size_t n, float alpha) {
  switch (op) {
    case UnaryOp::kNeg: return each(x, y, n, Neg{alpha});
    case UnaryOp::kAbs: return each(x, y, n, Abs{alpha});
    case UnaryOp::kSign: return each(x, y, n, Sign{alpha});
    case UnaryOp::kExp: return each(x, y, n, Exp{alpha});
    case UnaryOp::kLog: return each(x, y, n, Log{alpha});
    case UnaryOp::kLog1p: return each(x, y, n, Log1p{alpha});
    case UnaryOp::kSqrt: return each(x, y, n, Sqrt{alpha});
    case UnaryOp::kRsqrt: return each(x, y, n, Rsqrt{alpha});
    case UnaryOp::kSquare: return each(x, y, n, Square{alpha});
    case UnaryOp::kSin: return each(x, y, n, Sin{alpha});
    case UnaryOp::kCos: return each(x, y, n, Cos{alpha});
    case UnaryOp::kFloor: return each(x, y, n, Floor{alpha});
    case UnaryOp::kCeil: return each(x, y, n, Ceil{alpha});
    case UnaryOp::kRound: return each(x, y, n, Round{alpha});
    case UnaryOp::kTanh: return each(x, y, n, Tanh{alpha});
    case UnaryOp::kSigmoid: return each(x, y, n, Sigmoid{alpha});
    case UnaryOp::kRelu: return each(x, y, n, Relu{alpha});
    case UnaryOp::kLeakyRelu: return each(x, y, n, LeakyRelu{alpha});
    case UnaryOp::kElu: return each(x, y, n, Elu{alpha});
    case UnaryOp::kGelu: return each(x, y, n, Gelu{alpha});
    case UnaryOp::kGeluTanh: return each(x, y, n, GeluTanh{alpha});
    case UnaryOp::kSoftplus: return each(x, y, n, Softplus{alpha});
  }
}
#undef RONDO_UNARY

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

namespace rondo {
namespace {

HWY_EXPORT(run_unary);

// Beyond this, Highway's sine and cosine lose their precision.
bool in_range(const float* x, int64_t n) {
  return std::all_of(x, x + n, [](float v) { return std::abs(v) < 39000; });
}

}  // namespace

void unary_f32(UnaryOp op, const float* x, float* y, int64_t n, float alpha) {
  if ((op == UnaryOp::kSin || op == UnaryOp::kCos) && !in_range(x, n)) {
    for (int64_t i = 0; i < n; ++i)
      y[i] = op == UnaryOp::kSin ? std::sin(x[i]) : std::cos(x[i]);
    return;
  }
  HWY_DYNAMIC_DISPATCH(run_unary)(op, x, y, static_cast<size_t>(n), alpha);
}

}  // namespace rondo
#endif  // HWY_ONCE
