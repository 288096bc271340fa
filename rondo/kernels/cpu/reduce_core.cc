#include "rondo/kernels/cpu/reduce_core.h"
#include "rondo/kernels/cpu/dispatch.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "rondo/base/status.h"
#include "rondo/kernels/cpu/dispatch.h"

namespace rondo {
namespace {

template <class T>
using TotalOf =
    std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <Reduce kOp, class Total>
constexpr Total none() {
  using Limits = std::numeric_limits<Total>;
  switch (kOp) {
    case Reduce::kProd:
    case Reduce::kAllTrue: return 1;
    case Reduce::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Reduce::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return 0;
  }
}

// Integers wrap around.
template <Reduce kOp, class Total>
Total join(Total a, Total b) {
  using Wide = std::conditional_t<std::is_integral_v<Total>, uint64_t, double>;
  switch (kOp) {
    case Reduce::kSum:
    case Reduce::kSumSquares:
      return static_cast<Total>(static_cast<Wide>(a) + static_cast<Wide>(b));
    case Reduce::kProd:
      return static_cast<Total>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case Reduce::kMax: return a > b || is_nan(a) ? a : b;
    case Reduce::kMin: return a < b || is_nan(a) ? a : b;
    case Reduce::kAllTrue: return a != 0 && b != 0;
    case Reduce::kAnyTrue: return a != 0 || b != 0;
  }
}

template <Reduce kOp, class T>
TotalOf<T> take(T x) {
  const auto wide = static_cast<TotalOf<T>>(x);
  if constexpr (kOp == Reduce::kSumSquares)
    return wide * wide;
  else
    return wide;
}

template <Reduce kOp, class T>
struct Core {
  using Total = TotalOf<T>;

  static void clear(void* totals, int64_t n) {
    std::fill_n(static_cast<Total*>(totals), n, none<kOp, Total>());
  }

  // Floating-point numbers in pieces, each with four totals of its own, which
  // keeps the errors of long sums small. Integers one by one: GCC 12 loses
  // elements of 16 bits and less when it makes vectors of such a loop.
  static void row(const void* x, int64_t n, void* total) {
    const T* p = static_cast<const T*>(x);
    Total to = *static_cast<Total*>(total);
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int64_t kPiece = 1024;
      for (int64_t begin = 0; begin < n; begin += kPiece)
        to = join<kOp>(to, piece(p + begin, std::min(kPiece, n - begin)));
    } else {
      for (int64_t i = 0; i < n; ++i) to = join<kOp>(to, take<kOp>(p[i]));
    }
    *static_cast<Total*>(total) = to;
  }
  static Total piece(const T* p, int64_t n) {
    Total four[4];
    clear(four, 4);
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (int64_t k = 0; k < 4; ++k)
        four[k] = join<kOp>(four[k], take<kOp>(p[i + k]));
    for (; i < n; ++i) four[0] = join<kOp>(four[0], take<kOp>(p[i]));
    return join<kOp>(join<kOp>(four[0], four[1]), join<kOp>(four[2], four[3]));
  }

  static void columns(const void* x, int64_t rows, int64_t stride, int64_t n,
                      void* totals) {
    Total* to = static_cast<Total*>(totals);
    for (int64_t r = 0; r < rows; ++r) {
      const T* p = static_cast<const T*>(x) + r * stride;
      for (int64_t k = 0; k < n; ++k) to[k] = join<kOp>(to[k], take<kOp>(p[k]));
    }
  }

  static void combine(void* totals, const void* more, int64_t n) {
    columns_of_totals(static_cast<const Total*>(more), n,
                      static_cast<Total*>(totals));
  }
  static void columns_of_totals(const Total* more, int64_t n, Total* to) {
    for (int64_t k = 0; k < n; ++k) to[k] = join<kOp>(to[k], more[k]);
  }

  static void finish(const void* totals, int64_t n, double scale,
                     int64_t divisor, void* out) {
    const Total* from = static_cast<const Total*>(totals);
    T* to = static_cast<T*>(out);
    for (int64_t k = 0; k < n; ++k) {
      if constexpr (std::is_floating_point_v<T>) {
        to[k] = static_cast<T>(from[k] * scale);
      } else if constexpr (kOp == Reduce::kMax || kOp == Reduce::kMin) {
        using Limits = std::numeric_limits<T>;
        to[k] = static_cast<T>(
            std::clamp<int64_t>(from[k], Limits::lowest(), Limits::max()));
      } else {
        to[k] = static_cast<T>(divisor == 1 ? from[k] : from[k] / divisor);
      }
    }
  }

  static ReduceCore make() { return {clear, row, columns, combine, finish}; }
};

// f32 in vectors, by pieces that are short enough for the precision of a float
// to do and are added as doubles.
template <Reduce kOp>
struct Core32 : Core<kOp, float> {
  static void row(const void* x, int64_t n, void* total) {
    constexpr int64_t kPiece = 4096;
    const float* p = static_cast<const float*>(x);
    double& to = *static_cast<double*>(total);
    for (int64_t i = 0; i < n; i += kPiece)
      to = join<kOp>(to, row_f32(kOp, p + i, std::min(kPiece, n - i)));
  }

  static void columns(const void* x, int64_t rows, int64_t stride, int64_t n,
                      void* totals) {
    constexpr int64_t kPiece = 128;
    const float* p = static_cast<const float*>(x);
    double* to = static_cast<double*>(totals);
    float acc[kMaxColumns];
    for (int64_t r = 0; r < rows; r += kPiece) {
      std::fill_n(acc, n, static_cast<float>(none<kOp, double>()));
      columns_f32(kOp, p + r * stride, std::min(kPiece, rows - r), stride, n,
                  acc);
      for (int64_t k = 0; k < n; ++k)
        to[k] = join<kOp>(to[k], static_cast<double>(acc[k]));
    }
  }

  static ReduceCore make() {
    using Base = Core<kOp, float>;
    return {Base::clear, row, columns, Base::combine, Base::finish};
  }
};

template <class T>
ReduceCore number_core(Reduce op) {
  switch (op) {
    case Reduce::kProd: return Core<Reduce::kProd, T>::make();
    case Reduce::kMax: return Core<Reduce::kMax, T>::make();
    case Reduce::kMin: return Core<Reduce::kMin, T>::make();
    default: return Core<Reduce::kSum, T>::make();
  }
}

}  // namespace

ReduceCore reduce_core(Reduce op, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      switch (op) {
        case Reduce::kSumSquares: return Core32<Reduce::kSumSquares>::make();
        case Reduce::kProd: return Core<Reduce::kProd, float>::make();
        case Reduce::kMax: return Core32<Reduce::kMax>::make();
        case Reduce::kMin: return Core32<Reduce::kMin>::make();
        default: return Core32<Reduce::kSum>::make();
      }
    case DType::kF64:
      if (op == Reduce::kSumSquares)
        return Core<Reduce::kSumSquares, double>::make();
      return number_core<double>(op);
    case DType::kI64: return number_core<int64_t>(op);
    case DType::kI32: return number_core<int32_t>(op);
    case DType::kI16: return number_core<int16_t>(op);
    case DType::kI8: return number_core<int8_t>(op);
    case DType::kU8: return number_core<uint8_t>(op);
    case DType::kBool:
      return op == Reduce::kAllTrue ? Core<Reduce::kAllTrue, bool>::make()
                                    : Core<Reduce::kAnyTrue, bool>::make();
    case DType::kF16:
    case DType::kBF16: break;
  }
  throw Error(Code::kInternal, "a reduction of 16-bit numbers");
}

}  // namespace rondo
