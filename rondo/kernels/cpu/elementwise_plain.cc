// Loops over f64, integers, and what f32 has no vectors for.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/elementwise_loops.h"

namespace rondo {
namespace {

// Integers are computed without sign, in which they wrap around; those that
// would become int are made wider first.
template <class T>
using Wrapped = std::conditional_t<sizeof(T) < 4, uint32_t,
                                   std::make_unsigned_t<std::conditional_t<
                                       std::is_integral_v<T>, T, int64_t>>>;

template <class T, class F>
T wrap(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(
        f(static_cast<Wrapped<T>>(a), static_cast<Wrapped<T>>(b)));
  else
    return f(a, b);
}

template <class T>
T negate(T x) {
  return wrap<T>(T{0}, x, [](auto a, auto b) { return a - b; });
}

template <class T>
T divide(T a, T b) {
  if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    if (b == T{-1}) return negate(a);  // the least integer has no positive one
  return static_cast<T>(a / b);
}

template <class T>
T floor_divide(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return std::floor(a / b);
  } else {
    const T q = divide(a, b);
    if constexpr (std::is_signed_v<T>)
      if (b != T{-1} && a % b != 0 && (a < 0) != (b < 0))
        return static_cast<T>(q - 1);
    return q;
  }
}

template <class T>
T modulo(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    const T r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == T{-1}) return 0;
      const T r = static_cast<T>(a % b);
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    }
    return static_cast<T>(a % b);
  }
}

template <class T>
T power(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    return std::pow(a, b);
  } else {
    auto base = static_cast<Wrapped<T>>(a);
    Wrapped<T> result = 1;
    for (auto left = static_cast<uint64_t>(b); left > 0; left >>= 1) {
      if (left & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
}

template <class T>
T larger(T a, T b) {
  return a > b || is_nan(a) ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return a < b || is_nan(a) ? a : b;
}

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

// The probability that a normally distributed number is below x.
template <class T>
T normal_cdf(T x) {
  return static_cast<T>(0.5) *
         std::erfc(-x / static_cast<T>(std::numbers::sqrt2));
}

constexpr double kGeluSlope = 1.5957691216057308;  // 2 sqrt(2/pi)
constexpr double kGeluCube = 0.044715;
template <class T>
T gelu_gate(T x) {
  return sigmoid<T>(kGeluSlope * x * (1 + kGeluCube * x * x));
}

template <class T, class F>
void each(const T* x, T* y, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

template <class T, class F>
void each(const BinaryRow& row, F f) {
  const T* a = static_cast<const T*>(row.a);
  const T* b = static_cast<const T*>(row.b);
  T* out = static_cast<T*>(row.out);
  if (row.a_step == 1 && row.b_step == 1) {
    for (int64_t i = 0; i < row.n; ++i) out[i] = f(a[i], b[i]);
    return;
  }
  for (int64_t i = 0; i < row.n; ++i)
    out[i] = f(a[i * row.a_step], b[i * row.b_step]);
}

// Those that only floating-point numbers have.
void float_unary(UnaryOp op, const double* x, double* y, int64_t n,
                 double alpha) {
  using T = double;
  switch (op) {
    case UnaryOp::kExp: return each(x, y, n, [](T v) { return std::exp(v); });
    case UnaryOp::kLog: return each(x, y, n, [](T v) { return std::log(v); });
    case UnaryOp::kLog1p:
      return each(x, y, n, [](T v) { return std::log1p(v); });
    case UnaryOp::kSqrt: return each(x, y, n, [](T v) { return std::sqrt(v); });
    case UnaryOp::kRsqrt:
      return each(x, y, n, [](T v) { return 1 / std::sqrt(v); });
    case UnaryOp::kSin: return each(x, y, n, [](T v) { return std::sin(v); });
    case UnaryOp::kCos: return each(x, y, n, [](T v) { return std::cos(v); });
    case UnaryOp::kFloor:
      return each(x, y, n, [](T v) { return std::floor(v); });
    case UnaryOp::kCeil: return each(x, y, n, [](T v) { return std::ceil(v); });
    case UnaryOp::kRound:
      return each(x, y, n, [](T v) { return std::nearbyint(v); });
    case UnaryOp::kTanh: return each(x, y, n, [](T v) { return std::tanh(v); });
    case UnaryOp::kSigmoid: return each(x, y, n, sigmoid<T>);
    case UnaryOp::kRelu:
      return each(x, y, n, [](T v) { return v < 0 ? 0 : v; });
    case UnaryOp::kLeakyRelu:
      return each(x, y, n, [=](T v) { return v > 0 ? v : alpha * v; });
    case UnaryOp::kElu:
      return each(x, y, n,
                  [=](T v) { return v > 0 ? v : alpha * std::expm1(v); });
    case UnaryOp::kGelu:
      return each(x, y, n,
                  [](T v) { return v < -100 ? 0 : v * normal_cdf(v); });
    case UnaryOp::kGeluTanh:
      return each(x, y, n, [](T v) { return v < -100 ? 0 : v * gelu_gate(v); });
    case UnaryOp::kSoftplus:
      return each(x, y, n, [](T v) {
        return (v < 0 ? 0 : v) + std::log1p(std::exp(-std::abs(v)));
      });
    default: return;
  }
}

void gradient(BinaryOp op, const BinaryRow& row) {
  using T = double;
  const double alpha = row.alpha;
  switch (op) {
    case BinaryOp::kSqrtGrad:
      return each<T>(row, [](T dy, T y) { return dy * 0.5 / y; });
    case BinaryOp::kRsqrtGrad:
      return each<T>(row, [](T dy, T y) { return dy * -0.5 * y * y * y; });
    case BinaryOp::kReluGrad:
      return each<T>(row, [](T dy, T y) { return y > 0 ? dy : 0; });
    case BinaryOp::kLeakyReluGrad:
      return each<T>(row, [=](T dy, T x) { return x > 0 ? dy : alpha * dy; });
    case BinaryOp::kEluGrad:
      return each<T>(row, [=](T dy, T x) {
        return x > 0 ? dy : dy * alpha * std::exp(x);
      });
    case BinaryOp::kGeluGrad:
      return each<T>(row, [](T dy, T x) {
        const T density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi /
                          std::numbers::sqrt2;
        return dy * (normal_cdf(x) + x * density);
      });
    case BinaryOp::kGeluTanhGrad:
      return each<T>(row, [](T dy, T x) {
        const T gate = gelu_gate(x);
        const T du = kGeluSlope * (1 + 3 * kGeluCube * x * x);
        return dy * (gate + x * gate * (1 - gate) * du);
      });
    case BinaryOp::kSigmoidGrad:
      return each<T>(row, [](T dy, T y) { return dy * y * (1 - y); });
    case BinaryOp::kTanhGrad:
      return each<T>(row, [](T dy, T y) { return dy * (1 - y * y); });
    case BinaryOp::kSoftplusGrad:
      return each<T>(row, [](T dy, T x) { return dy * sigmoid(x); });
    default: return;
  }
}

}  // namespace

template <class T>
void unary_plain(UnaryOp op, const T* x, T* y, int64_t n, double alpha) {
  switch (op) {
    case UnaryOp::kNeg: return each(x, y, n, negate<T>);
    case UnaryOp::kAbs:
      return each(x, y, n, [](T v) {
        if constexpr (std::is_integral_v<T>)
          return v < 0 ? negate(v) : v;
        else
          return std::abs(v);
      });
    case UnaryOp::kSign:
      return each(x, y, n, [](T v) {
        return v > 0 ? T{1} : v < 0 ? static_cast<T>(-1) : v;
      });
    case UnaryOp::kSquare:
      return each(x, y, n, [](T v) {
        return wrap<T>(v, v, [](auto a, auto b) { return a * b; });
      });
    default:
      if constexpr (std::is_same_v<T, double>) float_unary(op, x, y, n, alpha);
  }
}

template <class T>
void binary_plain(BinaryOp op, const BinaryRow& row) {
  const auto plus = [](auto a, auto b) { return a + b; };
  const auto minus = [](auto a, auto b) { return a - b; };
  const auto times = [](auto a, auto b) { return a * b; };
  switch (op) {
    case BinaryOp::kAdd:
      return each<T>(row, [&](T a, T b) { return wrap(a, b, plus); });
    case BinaryOp::kSub:
      return each<T>(row, [&](T a, T b) { return wrap(a, b, minus); });
    case BinaryOp::kMul:
      return each<T>(row, [&](T a, T b) { return wrap(a, b, times); });
    case BinaryOp::kDiv: return each<T>(row, divide<T>);
    case BinaryOp::kFloorDiv: return each<T>(row, floor_divide<T>);
    case BinaryOp::kMod: return each<T>(row, modulo<T>);
    case BinaryOp::kPow: return each<T>(row, power<T>);
    case BinaryOp::kMaximum: return each<T>(row, larger<T>);
    case BinaryOp::kMinimum: return each<T>(row, smaller<T>);
    case BinaryOp::kSquaredDifference:
      return each<T>(row, [&](T a, T b) {
        const T d = wrap(a, b, minus);
        return wrap(d, d, times);
      });
    default:
      if constexpr (std::is_same_v<T, double>) gradient(op, row);
  }
}

template <>
void binary_plain<float>(BinaryOp op, const BinaryRow& row) {
  if (op == BinaryOp::kPow) return each<float>(row, power<float>);
  if (op == BinaryOp::kMod) return each<float>(row, modulo<float>);
}

void unary_loop(UnaryOp op, DType dtype, const void* x, void* y, int64_t n,
                double alpha) {
  const auto plain = [&]<class T>(T) {
    unary_plain(op, static_cast<const T*>(x), static_cast<T*>(y), n, alpha);
  };
  const auto alpha32 = static_cast<float>(alpha);
  switch (dtype) {
    case DType::kF32:
      return unary_f32(op, static_cast<const float*>(x), static_cast<float*>(y),
                       n, alpha32);
    case DType::kF64: return plain(double{});
    case DType::kI64: return plain(int64_t{});
    case DType::kI32: return plain(int32_t{});
    case DType::kI16: return plain(int16_t{});
    case DType::kI8: return plain(int8_t{});
    case DType::kU8: return plain(uint8_t{});
    case DType::kBool: return;
    case DType::kF16:
    case DType::kBF16: break;
  }
  constexpr int64_t kBlock = 512;
  float block[kBlock];
  const auto* from = static_cast<const uint16_t*>(x);
  auto* to = static_cast<uint16_t*>(y);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    widen(dtype, from + i, block, m);
    unary_f32(op, block, block, m, alpha32);
    narrow(dtype, block, to + i, m);
  }
}

void binary_loop(BinaryOp op, DType dtype, const BinaryRow& row) {
  switch (dtype) {
    case DType::kF32: return binary_f32(op, row);
    case DType::kF64: return binary_plain<double>(op, row);
    case DType::kI64: return binary_plain<int64_t>(op, row);
    case DType::kI32: return binary_plain<int32_t>(op, row);
    case DType::kI16: return binary_plain<int16_t>(op, row);
    case DType::kI8: return binary_plain<int8_t>(op, row);
    case DType::kU8: return binary_plain<uint8_t>(op, row);
    case DType::kBool: return;
    case DType::kF16:
    case DType::kBF16: break;
  }
  constexpr int64_t kBlock = 512;
  float a[kBlock];
  float b[kBlock];
  for (int64_t i = 0; i < row.n; i += kBlock) {
    const int64_t m = std::min(kBlock, row.n - i);
    const auto* from_a = static_cast<const uint16_t*>(row.a) + i * row.a_step;
    const auto* from_b = static_cast<const uint16_t*>(row.b) + i * row.b_step;
    widen(dtype, from_a, a, row.a_step == 0 ? 1 : m);
    widen(dtype, from_b, b, row.b_step == 0 ? 1 : m);
    // The result is not put where an input is that the whole block uses.
    float out[kBlock];
    binary_f32(op, {a, b, out, row.a_step, row.b_step, m, row.alpha});
    narrow(dtype, out, static_cast<uint16_t*>(row.out) + i, m);
  }
}

}  // namespace rondo
