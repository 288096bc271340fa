// The operators as vector functions, compiled once per instruction set: structs
// with apply(d, a, b), where a stands before b in the order of operands.
#if defined(RONDO_TENSOR_REDUCE_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_TENSOR_REDUCE_OPS_INL_H_
#undef RONDO_TENSOR_REDUCE_OPS_INL_H_
#else
#define RONDO_TENSOR_REDUCE_OPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

// Integers come here as unsigned numbers, so that they wrap around.
struct Prod {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    using T = hn::TFromD<D>;
    if constexpr (std::is_floating_point_v<T>) {
      return hn::Mul(a, b);
    } else if constexpr (hn::MaxLanes(D()) == 1) {
      const uint64_t product = uint64_t{hn::GetLane(a)} * hn::GetLane(b);
      return hn::Set(d, static_cast<T>(product));
    } else {
      return wide(d, a, b);
    }
  }

 private:
  template <class D, class V>
  static HWY_INLINE V wide(D d, V a, V b) {
    using T = hn::TFromD<D>;
    if constexpr (sizeof(T) == 1) {
      // Even and odd bytes, each as the low half of a 16-bit product.
      const hn::Repartition<uint16_t, D> d16;
      const auto a16 = hn::BitCast(d16, a);
      const auto b16 = hn::BitCast(d16, b);
      const auto even =
          hn::And(hn::Mul(a16, b16), hn::Set(d16, uint16_t{0xff}));
      const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
      return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd)));
    } else if constexpr (sizeof(T) == 8) {
      // (aH 2^32 + aL)(bH 2^32 + bL) without the part above 2^64.
      const hn::Repartition<uint32_t, D> d32;
      const auto a32 = hn::BitCast(d32, a);
      const auto b32 = hn::BitCast(d32, b);
      const auto a_high = hn::BitCast(d32, hn::ShiftRight<32>(a));
      const auto b_high = hn::BitCast(d32, hn::ShiftRight<32>(b));
      const auto cross =
          hn::Add(hn::MulEven(a_high, b32), hn::MulEven(a32, b_high));
      return hn::Add(hn::MulEven(a32, b32), hn::ShiftLeft<32>(cross));
    } else {
      return hn::Mul(a, b);
    }
  }
};

// For floating-point numbers spelt out as comparisons, because instruction sets
// differ on NaN and on -0 against +0: a NaN wins, otherwise the first of
// equals.
struct Min {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>)
      return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
    else
      return hn::Min(a, b);
  }
};
struct Max {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>)
      return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
    else
      return hn::Max(a, b);
  }
};

struct Band {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::And(a, b);
  }
};
struct Bor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Or(a, b);
  }
};
struct Bxor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Xor(a, b);
  }
};

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RONDO_TENSOR_REDUCE_OPS_INL_H_
