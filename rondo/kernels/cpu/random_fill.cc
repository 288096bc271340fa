#include "rondo/kernels/cpu/random_fill.h"

// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/random_fill.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <numbers>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Blocks [first, first + blocks) of the stream, four words each. A vector holds
// the same word of several blocks, each in the lower half of a 64-bit lane; the
// upper halves hold what is never looked at.
void fill_words(const RandomStream& stream, uint64_t first, size_t blocks,
                uint64_t* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t i = 0; i < blocks; ++i) {
    const philox::Block b = random_block(stream, first + i);
    out[2 * i] = uint64_t{b[1]} << 32 | b[0];
    out[2 * i + 1] = uint64_t{b[3]} << 32 | b[2];
  }
#else
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<uint32_t, decltype(d)> d32;
  const size_t n = hn::Lanes(d);
  const auto m0 = hn::BitCast(d32, hn::Set(d, philox::kMultiplier0));
  const auto m1 = hn::BitCast(d32, hn::Set(d, philox::kMultiplier1));
  const auto low = hn::Set(d, 0xFFFFFFFFu);
  for (size_t i = 0; i < blocks; i += n) {
    auto c0 = hn::Iota(d, first + i);
    auto c1 = hn::ShiftRight<32>(c0);
    auto c2 = hn::Set(d, stream.run);
    auto c3 = hn::Set(d, stream.run >> 32);
    auto k0 = static_cast<uint32_t>(stream.key);
    auto k1 = static_cast<uint32_t>(stream.key >> 32);
    for (int round = 0; round < philox::kRounds; ++round) {
      const auto p0 = hn::MulEven(hn::BitCast(d32, c0), m0);
      const auto p1 = hn::MulEven(hn::BitCast(d32, c2), m1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
      c1 = p1;
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
      c3 = p0;
      k0 += philox::kWeyl0;
      k1 += philox::kWeyl1;
    }
    const auto words01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
    const auto words23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    hn::StoreInterleaved2(words01, words23, d, out + 2 * i);
  }
#endif
}

// Of [0, 1), by the bits of a number of [1, 2).
template <class D, class V>
HWY_INLINE hn::Vec<D> unit(D d, V words) {
  const hn::RebindToUnsigned<D> du;
  if constexpr (sizeof(hn::TFromD<D>) == 4)
    return hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<9>(words),
                                         hn::Set(du, 0x3F800000u))),
                   hn::Set(d, 1.0f));
  else
    return hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<12>(words),
                                         hn::Set(du, 0x3FF0000000000000u))),
                   hn::Set(d, 1.0));
}

// Of (0, 1]; in 32 bits with all the small ones that the word has bits for, so
// that the tails of the normal distribution reach beyond 6.
template <class D, class V>
HWY_INLINE hn::Vec<D> positive_unit(D d, V words) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RebindToSigned<D> di;
    const auto x = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<1>(words)));
    return hn::Mul(hn::Add(x, hn::Set(d, 0.5f)), hn::Set(d, 0x1p-31f));
  } else {
    return hn::Sub(hn::Set(d, 1.0), unit(d, words));
  }
}

// The inverse of the error function for |y| <= erf(sqrt(2)), times sqrt(2): the
// central polynomial of Giles, "Approximating the erfinv function" (2010).
template <class D, class V>
HWY_INLINE V inverse_erf(D d, V y) {
  using T = hn::TFromD<D>;
  constexpr T kTerms[] = {
      static_cast<T>(3.43273939e-07),  static_cast<T>(-3.5233877e-06),
      static_cast<T>(-4.39150654e-06), static_cast<T>(0.00021858087),
      static_cast<T>(-0.00125372503),  static_cast<T>(-0.00417768164),
      static_cast<T>(0.246640727),     static_cast<T>(1.50140941)};
  const auto one = hn::Set(d, T{1});
  const auto w = hn::Sub(hn::Neg(hn::Log(d, hn::NegMulAdd(y, y, one))),
                         hn::Set(d, static_cast<T>(2.5)));
  auto p = hn::Set(d, static_cast<T>(2.81022636e-08));
  for (const T term : kTerms) p = hn::MulAdd(p, w, hn::Set(d, term));
  return hn::Mul(hn::Mul(p, y), hn::Set(d, std::numbers::sqrt2_v<T>));
}

template <class T>
void fill_chunk(const RandomFill& fill, uint64_t chunk, T* HWY_RESTRICT out) {
  using U = hwy::MakeUnsigned<T>;
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  constexpr size_t kBlocks = kRandomChunk * sizeof(T) / 16;
  HWY_ALIGN uint64_t words[2 * kBlocks];
  fill_words(fill.stream, chunk * kBlocks, kBlocks, words);
  HWY_ALIGN U bits[kRandomChunk];
  std::memcpy(bits, words, sizeof(bits));
  const size_t n = hn::Lanes(d);
  const auto scale = hn::Set(d, static_cast<T>(fill.scale));
  const auto shift = hn::Set(d, static_cast<T>(fill.shift));
  switch (fill.distribution) {
    case Distribution::kUniform: {
      const auto limit = hn::Set(d, static_cast<T>(fill.limit));
      for (size_t i = 0; i < kRandomChunk; i += n) {
        const auto u = unit(d, hn::Load(du, bits + i));
        hn::StoreU(hn::Min(hn::MulAdd(u, scale, shift), limit), d, out + i);
      }
      break;
    }
    case Distribution::kNormal: {
      // Box and Muller: each pair of words, one of either half of the chunk,
      // makes two numbers.
      constexpr size_t kHalf = kRandomChunk / 2;
      constexpr T kPi = std::numbers::pi_v<T>;
      for (size_t i = 0; i < kHalf; i += n) {
        const auto u = positive_unit(d, hn::Load(du, bits + i));
        const auto turn = unit(d, hn::Load(du, bits + kHalf + i));
        const auto angle =
            hn::MulAdd(turn, hn::Set(d, 2 * kPi), hn::Set(d, -kPi));
        const auto radius = hn::Mul(
            scale,
            hn::Sqrt(hn::Mul(hn::Set(d, static_cast<T>(-2)), hn::Log(d, u))));
        hn::StoreU(hn::MulAdd(radius, hn::Cos(d, angle), shift), d, out + i);
        hn::StoreU(hn::MulAdd(radius, hn::Sin(d, angle), shift), d,
                   out + kHalf + i);
      }
      break;
    }
    case Distribution::kTruncated: {
      // erf(sqrt(2)): the share of the distribution that is left.
      constexpr double kShare = 0.9544997361036416;
      const auto two = hn::Set(d, static_cast<T>(2 * kShare));
      const auto one = hn::Set(d, static_cast<T>(-kShare));
      for (size_t i = 0; i < kRandomChunk; i += n) {
        const auto u = unit(d, hn::Load(du, bits + i));
        const auto y = hn::MulAdd(u, two, one);
        auto x = inverse_erf(d, y);
        if constexpr (sizeof(T) == 8) {
          // The polynomial has the precision of 32 bits; two steps of Newton's
          // method give the rest.
          HWY_ALIGN double xs[HWY_MAX_BYTES / 8];
          HWY_ALIGN double ys[HWY_MAX_BYTES / 8];
          hn::Store(x, d, xs);
          hn::Store(y, d, ys);
          for (size_t k = 0; k < n; ++k)
            for (int step = 0; step < 2; ++step)
              xs[k] -= (std::erf(xs[k] / std::numbers::sqrt2) - ys[k]) *
                       std::exp(xs[k] * xs[k] / 2) *
                       std::sqrt(std::numbers::pi / 2);
          x = hn::Load(d, xs);
        }
        const auto bound = hn::Set(d, static_cast<T>(2));
        x = hn::Clamp(x, hn::Neg(bound), bound);
        hn::StoreU(hn::MulAdd(x, scale, shift), d, out + i);
      }
      break;
    }
  }
}

void fill_f32(const RandomFill& fill, uint64_t chunk, float* out) {
  fill_chunk(fill, chunk, out);
}
void fill_f64(const RandomFill& fill, uint64_t chunk, double* out) {
  fill_chunk(fill, chunk, out);
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace {
HWY_EXPORT(fill_f32);
HWY_EXPORT(fill_f64);
}  // namespace

void fill_random_chunk(const RandomFill& fill, uint64_t chunk, float* out) {
  HWY_DYNAMIC_DISPATCH(fill_f32)(fill, chunk, out);
}
void fill_random_chunk(const RandomFill& fill, uint64_t chunk, double* out) {
  HWY_DYNAMIC_DISPATCH(fill_f64)(fill, chunk, out);
}

}  // namespace rondo
#endif
