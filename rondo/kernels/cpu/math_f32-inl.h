// Functions of vectors of floats, right for every argument, compiled once per
// instruction set. Highway's own leave out infinities and NaN.
#if defined(RONDO_KERNELS_CPU_MATH_F32_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_CPU_MATH_F32_INL_H_
#undef RONDO_KERNELS_CPU_MATH_F32_INL_H_
#else
#define RONDO_KERNELS_CPU_MATH_F32_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<float>(value));
}

// Above 89 the result is infinite anyhow.
template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  const V top = constant(d, 89);
  const V y = hn::Exp(d, hn::IfThenElse(hn::Gt(x, top), top, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V>
HWY_INLINE V expm1_of(D d, V x) {
  const V top = constant(d, 89);
  const V y = hn::Expm1(d, hn::IfThenElse(hn::Gt(x, top), top, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// x, which a logarithm y was taken of, may be anything.
template <class D, class V>
HWY_INLINE V mend_log(D d, V x, V y) {
  const V infinity = constant(d, std::numeric_limits<float>::infinity());
  const V nan = constant(d, std::numeric_limits<float>::quiet_NaN());
  const V zero = hn::Zero(d);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Ge(x, zero), y, nan);
  return hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
}

template <class D, class V>
HWY_INLINE V log_of(D d, V x) {
  return mend_log(d, x, hn::Log(d, x));
}

// log(1 + x): log(y) with y = 1 + x rounded, and what rounding took put back by
// x / (y - 1).
template <class D, class V>
HWY_INLINE V log1p_of(D d, V x) {
  const V one = constant(d, 1);
  const V y = hn::Add(x, one);
  return hn::IfThenElse(hn::Eq(y, one), x, mend_log(d, y, hn::Log1p(d, x)));
}

template <class D, class V>
HWY_INLINE V tanh_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
}

template <class D, class V>
HWY_INLINE V sigmoid_of(D d, V x) {
  const V one = constant(d, 1);
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}

// The probability that a normally distributed number is below x. Of the
// complementary error function there is a fit with a relative error of 1.2e-7
// for every argument, so that far below zero, too, the result is precise.
template <class D, class V>
HWY_INLINE V normal_cdf(D d, V x) {
  const V z = hn::Mul(hn::Abs(x), constant(d, 0.70710678118654752));
  const V one = constant(d, 1);
  const V t = hn::Div(one, hn::MulAdd(constant(d, 0.5), z, one));
  V p = constant(d, 0.17087277);
  p = hn::MulAdd(p, t, constant(d, -0.82215223));
  p = hn::MulAdd(p, t, constant(d, 1.48851587));
  p = hn::MulAdd(p, t, constant(d, -1.13520398));
  p = hn::MulAdd(p, t, constant(d, 0.27886807));
  p = hn::MulAdd(p, t, constant(d, -0.18628806));
  p = hn::MulAdd(p, t, constant(d, 0.09678418));
  p = hn::MulAdd(p, t, constant(d, 0.37409196));
  p = hn::MulAdd(p, t, constant(d, 1.00002368));
  p = hn::MulAdd(p, t, constant(d, -1.26551223));
  const V half = constant(d, 0.5);
  const V tail = hn::Mul(hn::Mul(half, t), exp_of(d, hn::NegMulAdd(z, z, p)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
}

template <class D, class V>
HWY_INLINE V normal_density(D d, V x) {
  const V half = constant(d, -0.5);
  return hn::Mul(constant(d, 0.39894228040143268),
                 exp_of(d, hn::Mul(hn::Mul(x, x), half)));
}

// (1 + tanh(u)) / 2 = sigmoid(2 u) with u = sqrt(2/pi) (x + 0.044715 x^3).
inline constexpr double kGeluSlope = 1.5957691216057308;  // 2 sqrt(2/pi)
inline constexpr double kGeluCube = 0.044715;
template <class D, class V>
HWY_INLINE V gelu_gate(D d, V x) {
  const V cube =
      hn::MulAdd(hn::Mul(x, x), constant(d, kGeluCube), constant(d, 1));
  const V u = hn::Mul(hn::Mul(x, cube), constant(d, kGeluSlope));
  return sigmoid_of(d, u);
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RONDO_KERNELS_CPU_MATH_F32_INL_H_
