// How vectors of each element type are loaded, combined and stored, compiled
// once per instruction set (the include guard below is Highway's way to allow
// that). An element type is a struct with
//   Element            what lies in memory,
//   Lane               what is computed with,
//   load(d, p)         one vector of Lanes from unaligned memory,
//   store(d, v, p)     the reverse,
//   stream4(d, a..., p)  four vectors past the caches, p aligned to a vector.
// and an operator is a struct with apply(d, a, b).
//
// Results must be the same bits on every instruction set and at every position
// in an array, so nothing here may depend on the number of lanes, and Highway's
// conversions are used only where they are the processor's own.
#if defined(RONDO_TENSOR_REDUCE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_TENSOR_REDUCE_LANES_INL_H_
#undef RONDO_TENSOR_REDUCE_LANES_INL_H_
#else
#define RONDO_TENSOR_REDUCE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Plain {
  using Element = T;
  using Lane = T;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* p) {
    return hn::LoadU(d, p);
  }
  template <class D, class V>
  static HWY_INLINE void store(D d, V v, T* p) {
    hn::StoreU(v, d, p);
  }
  template <class D, class V>
  static HWY_INLINE void stream4(D d, V a, V b, V c, V e, T* p) {
    const size_t n = hn::Lanes(d);
    hn::Stream(a, d, p);
    hn::Stream(b, d, p + n);
    hn::Stream(c, d, p + 2 * n);
    hn::Stream(e, d, p + 3 * n);
  }
};

// Any non-zero byte is true; results are 0 or 1.
struct Bool : Plain<uint8_t> {
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const uint8_t* p) {
    return hn::Min(hn::LoadU(d, p), hn::Set(d, uint8_t{1}));
  }
};

// 16-bit floating-point types: float lanes, 16-bit elements. Convert has
// widen(d, bits) and narrow(d, v), between uint32_t and float vectors' worth of
// 16-bit patterns.
template <class Convert>
struct Narrow {
  using Element = uint16_t;
  using Lane = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const uint16_t* p) {
    return Convert::widen(d, hn::LoadU(hn::Rebind<uint16_t, D>(), p));
  }
  template <class D, class V>
  static HWY_INLINE void store(D d, V v, uint16_t* p) {
    const hn::Rebind<uint16_t, D> d16;
    hn::StoreU(Convert::narrow(d, v), d16, p);
  }
  // Two narrowed vectors fill one whole vector, which is what can be streamed.
  template <class D, class V>
  static HWY_INLINE void stream4(D d, V a, V b, V c, V e, uint16_t* p) {
#if HWY_TARGET == HWY_SCALAR
    store(d, a, p);
    store(d, b, p + 1);
    store(d, c, p + 2);
    store(d, e, p + 3);
#else
    const hn::Repartition<uint16_t, D> whole;
    const auto low =
        hn::Combine(whole, Convert::narrow(d, b), Convert::narrow(d, a));
    const auto high =
        hn::Combine(whole, Convert::narrow(d, e), Convert::narrow(d, c));
    hn::Stream(low, whole, p);
    hn::Stream(high, whole, p + hn::Lanes(whole));
#endif
  }
};

// 32-bit lanes that hold 16-bit values, as 16-bit lanes.
template <class D, class V>
HWY_INLINE auto cut_to_16(D, V v32) {
  const hn::Rebind<uint16_t, D> d16;
  return hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<D>(), v32));
}

struct ConvertBFloat16 {
  template <class D, class V16>
  static HWY_INLINE hn::Vec<D> widen(D d, V16 bits) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
  }
  // To nearest even; a NaN is cut, since rounding could make it an infinity.
  template <class D, class V>
  static HWY_INLINE auto narrow(D d, V v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd =
        hn::And(hn::ShiftRight<16>(bits), hn::Set(du, uint32_t{1}));
    const auto rounded =
        hn::Add(bits, hn::Add(odd, hn::Set(du, uint32_t{0x7fff})));
    const auto quiet = hn::Or(bits, hn::Set(du, uint32_t{0x400000}));
    const auto nan = hn::RebindMask(du, hn::IsNaN(v));
    return cut_to_16(d,
                     hn::ShiftRight<16>(hn::IfThenElse(nan, quiet, rounded)));
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
struct ConvertHalf {
  template <class D, class V16>
  static HWY_INLINE hn::Vec<D> widen(D d, V16 bits) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
  }
  template <class D, class V>
  static HWY_INLINE auto narrow(D, V v) {
    const hn::Rebind<uint16_t, D> d16;
    return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
};
#else
// Elsewhere Highway 1.0's own conversion truncates. These are Half::to_float
// and Half::from_float (dtype.cc) without branches.
struct ConvertHalf {
  template <class D, class V16>
  static HWY_INLINE hn::Vec<D> widen(D d, V16 bits16) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::PromoteTo(du, bits16);
    const auto magnitude = hn::And(bits, hn::Set(du, uint32_t{0x7fff}));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
    const auto bias = hn::Set(du, uint32_t{112} << 23);
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), bias);
    const auto small =
        hn::BitCast(du, hn::Mul(hn::ConvertTo(d, hn::BitCast(di, magnitude)),
                                hn::Set(d, 0x1p-24f)));
    // Infinities and NaNs: the exponent grows by the bias once more.
    const auto quiet = hn::Set(du, uint32_t{0x400000});
    const auto infinite = hn::Add(normal, bias);
    const auto signed_magnitude = hn::BitCast(di, magnitude);
    const auto is_small = hn::RebindMask(
        du, hn::Lt(signed_magnitude, hn::Set(di, int32_t{0x400})));
    const auto is_infinite = hn::RebindMask(
        du, hn::Gt(signed_magnitude, hn::Set(di, int32_t{0x7bff})));
    const auto is_nan = hn::RebindMask(
        du, hn::Gt(signed_magnitude, hn::Set(di, int32_t{0x7c00})));
    auto out = hn::IfThenElse(is_small, small, normal);
    out = hn::IfThenElse(is_infinite, infinite, out);
    out = hn::IfThenElse(is_nan, hn::Or(infinite, quiet), out);
    return hn::BitCast(d, hn::Or(out, sign));
  }
  template <class D, class V>
  static HWY_INLINE auto narrow(D d, V v) {
    const hn::RebindToUnsigned<D> du;
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(du, v);
    const auto magnitude = hn::And(bits, hn::Set(du, uint32_t{0x7fffffff}));
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
    const auto odd =
        hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, uint32_t{1}));
    const auto rebias = hn::Set(du, uint32_t{0xfff} - (uint32_t{112} << 23));
    const auto normal =
        hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, rebias)));
    const auto small = hn::Sub(
        hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f))),
        hn::Set(du, uint32_t{0x3f000000}));
    const auto nan = hn::Or(
        hn::Set(du, uint32_t{0x7e00}),
        hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, uint32_t{0x3ff})));
    const auto signed_magnitude = hn::BitCast(di, magnitude);
    const auto is_small = hn::RebindMask(
        du, hn::Lt(signed_magnitude, hn::Set(di, int32_t{0x38800000})));
    const auto is_large = hn::RebindMask(
        du, hn::Gt(signed_magnitude, hn::Set(di, int32_t{0x477fefff})));
    const auto is_nan = hn::RebindMask(
        du, hn::Gt(signed_magnitude, hn::Set(di, int32_t{0x7f800000})));
    auto out = hn::IfThenElse(is_small, small, normal);
    out = hn::IfThenElse(is_large, hn::Set(du, uint32_t{0x7c00}), out);
    out = hn::IfThenElse(is_nan, nan, out);
    return cut_to_16(d, hn::Or(out, sign));
  }
};
#endif

using HalfLanes = Narrow<ConvertHalf>;
using BFloat16Lanes = Narrow<ConvertBFloat16>;

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RONDO_TENSOR_REDUCE_LANES_INL_H_
