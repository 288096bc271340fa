// Vectors are kept in arrays here, which those of unknown length cannot be.
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/winograd_loops.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include "rondo/kernels/cpu/winograd_loops.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::winograd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kBlock>;
using Vec = hn::Vec<Floats>;
constexpr int64_t kLanes = hn::MaxLanes(Floats());

HWY_INLINE Vec add(Vec a, Vec b) { return hn::Add(a, b); }
HWY_INLINE Vec sub(Vec a, Vec b) { return hn::Sub(a, b); }
// x * by + plus
HWY_INLINE Vec scaled(Vec x, float by, Vec plus) {
  return hn::MulAdd(x, hn::Set(Floats(), by), plus);
}
HWY_INLINE Vec times(Vec x, float by) {
  return hn::Mul(x, hn::Set(Floats(), by));
}
HWY_INLINE float* at(const Channels& element, int64_t channel) {
  return element.first + channel / kBlock * element.step + channel % kBlock;
}

// The points, besides 0 and infinity, are kA, -kA, kB and -kB. With these
// rounding errors are a quarter of those with 1 and 2.
constexpr float kA = 0.70710678F;  // squared 1/2
constexpr float kB = 1.41421356F;  // squared 2

// Each of these is one direction of a change of place.

struct TileLine {
  static constexpr int64_t kFrom = kTile;
  static constexpr int64_t kTo = kTile;
  HWY_INLINE void operator()(const Vec (&d)[kFrom], Vec (&to)[kTo]) const {
    const Vec even = scaled(d[2], -2, d[4]);
    const Vec odd = scaled(d[1], -2, d[3]);
    const Vec even2 = scaled(d[2], -0.5F, d[4]);
    const Vec odd2 = scaled(d[1], -0.5F, d[3]);
    to[0] = scaled(d[2], -2.5F, add(d[0], d[4]));
    to[1] = scaled(odd, kA, even);
    to[2] = scaled(odd, -kA, even);
    to[3] = scaled(odd2, kB, even2);
    to[4] = scaled(odd2, -kB, even2);
    to[5] = scaled(d[3], -2.5F, add(d[1], d[5]));
  }
};

struct ResultLine {
  static constexpr int64_t kFrom = kTile;
  static constexpr int64_t kTo = kOut;
  HWY_INLINE void operator()(const Vec (&m)[kFrom], Vec (&to)[kTo]) const {
    to[0] = add(add(m[0], add(m[1], m[2])), add(m[3], m[4]));
    to[1] = scaled(sub(m[1], m[2]), kA, scaled(sub(m[3], m[4]), kB, m[5]));
  }
};

struct GradientLine {
  static constexpr int64_t kFrom = kOut;
  static constexpr int64_t kTo = kTile;
  HWY_INLINE void operator()(const Vec (&g)[kFrom], Vec (&to)[kTo]) const {
    to[0] = g[0];
    to[1] = scaled(g[1], kA, g[0]);
    to[2] = scaled(g[1], -kA, g[0]);
    to[3] = scaled(g[1], kB, g[0]);
    to[4] = scaled(g[1], -kB, g[0]);
    to[5] = g[1];
  }
};

struct FilterLine {
  static constexpr int64_t kFrom = kFilter;
  static constexpr int64_t kTo = kTile;
  HWY_INLINE void operator()(const Vec (&f)[kFrom], Vec (&to)[kTo]) const {
    const Vec even =
        times(scaled(f[4], 0.25F, scaled(f[2], 0.5F, f[0])), -2.F / 3);
    const Vec odd = times(scaled(f[3], 0.5F, f[1]), -2.F / 3 * kA);
    const Vec even2 = times(scaled(f[4], 4, scaled(f[2], 2, f[0])), 1.F / 6);
    const Vec odd2 = times(scaled(f[3], 2, f[1]), 1.F / 6 * kB);
    to[0] = f[0];
    to[1] = add(even, odd);
    to[2] = sub(even, odd);
    to[3] = add(even2, odd2);
    to[4] = sub(even2, odd2);
    to[5] = f[4];
  }
};

struct FilterGradientLine {
  static constexpr int64_t kFrom = kTile;
  static constexpr int64_t kTo = kFilter;
  HWY_INLINE void operator()(const Vec (&u)[kFrom], Vec (&to)[kTo]) const {
    const Vec even = times(add(u[1], u[2]), -2.F / 3);
    const Vec odd = times(sub(u[1], u[2]), -2.F / 3 * kA);
    const Vec even2 = times(add(u[3], u[4]), 1.F / 6);
    const Vec odd2 = times(sub(u[3], u[4]), 1.F / 6 * kB);
    to[0] = add(u[0], add(even, even2));
    to[1] = add(odd, odd2);
    to[2] = scaled(even, 0.5F, times(even2, 2));
    to[3] = scaled(odd, 0.5F, times(odd2, 2));
    to[4] = add(scaled(even, 0.25F, times(even2, 4)), u[5]);
  }
};

// Applies `line` in both directions to what load(row, column) gives, and passes
// what comes of it to store(row, column, vector).
template <class Line, class Load, class Store>
HWY_INLINE void both(const Line& line, const Load& load, const Store& store) {
  Vec half[Line::kTo][Line::kFrom];
  for (int64_t j = 0; j < Line::kFrom; ++j) {
    Vec from[Line::kFrom];
    Vec to[Line::kTo];
    for (int64_t i = 0; i < Line::kFrom; ++i) from[i] = load(i, j);
    line(from, to);
    for (int64_t i = 0; i < Line::kTo; ++i) half[i][j] = to[i];
  }
  for (int64_t i = 0; i < Line::kTo; ++i) {
    Vec to[Line::kTo];
    line(half[i], to);
    for (int64_t j = 0; j < Line::kTo; ++j) store(i, j, to[j]);
  }
}

// A load or store of channels from `c` on at one of the places.
struct AtPlaces {
  const Places& places;
  int64_t c;

  HWY_INLINE float* at(int64_t i, int64_t j) const {
    return places.at + (i * kTile + j) * places.place + c;
  }
  HWY_INLINE Vec operator()(int64_t i, int64_t j) const {
    return hn::LoadU(Floats(), at(i, j));
  }
  HWY_INLINE void operator()(int64_t i, int64_t j, Vec x) const {
    hn::StoreU(x, Floats(), at(i, j));
  }
};

void tile_to_places(const Channels* HWY_RESTRICT tile, int64_t channels,
                    const Places& to) {
  for (int64_t c = 0; c < channels; c += kLanes)
    both(
        TileLine(),
        [=](int64_t i, int64_t j) {
          return hn::LoadU(Floats(), at(tile[i * kTile + j], c));
        },
        AtPlaces{to, c});
}

HWY_INLINE Vec finished(Vec y, const Finish& finish, int64_t c) {
  const Floats d;
  if (finish.bias) y = add(y, hn::LoadU(d, finish.bias + c));
  if (!finish.relu) return y;
  // What is not a number stays so.
  const auto below = hn::Lt(y, hn::Zero(d));
  if (finish.slope == 0) return hn::IfThenZeroElse(below, y);
  return hn::IfThenElse(below, times(y, finish.slope), y);
}

void places_to_result(const Places& from, int64_t channels,
                      const Finish& finish,
                      const Channels* HWY_RESTRICT result) {
  for (int64_t c = 0; c < channels; c += kLanes)
    both(ResultLine(), AtPlaces{from, c}, [&](int64_t i, int64_t j, Vec y) {
      const Channels& element = result[i * kOut + j];
      if (element.first)
        hn::StoreU(finished(y, finish, c), Floats(), at(element, c));
    });
}

void result_to_places(const Channels* HWY_RESTRICT result, int64_t channels,
                      const Places& to) {
  for (int64_t c = 0; c < channels; c += kLanes)
    both(
        GradientLine(),
        [=](int64_t i, int64_t j) {
          return hn::LoadU(Floats(), at(result[i * kOut + j], c));
        },
        AtPlaces{to, c});
}

void filter_to_places(const float* HWY_RESTRICT filter, int64_t step,
                      int64_t channels, const Places& to) {
  for (int64_t c = 0; c < channels; c += kLanes)
    both(
        FilterLine(),
        [=](int64_t i, int64_t j) {
          return hn::LoadU(Floats(), filter + (i * kFilter + j) * step + c);
        },
        AtPlaces{to, c});
}

void places_to_filter(const Places& from, int64_t count, int64_t next,
                      int64_t channels, float* HWY_RESTRICT filter,
                      int64_t step) {
  for (int64_t c = 0; c < channels; c += kLanes)
    both(
        FilterGradientLine(),
        [&](int64_t i, int64_t j) {
          const float* const first = AtPlaces{from, c}.at(i, j);
          Vec sum = hn::LoadU(Floats(), first);
          for (int64_t k = 1; k < count; ++k)
            sum = add(sum, hn::LoadU(Floats(), first + k * next));
          return sum;
        },
        [&](int64_t i, int64_t j, Vec x) {
          hn::StoreU(x, Floats(), filter + (i * kFilter + j) * step + c);
        });
}

// As many columns as leave registers for what is added up, kRows of each.
constexpr int64_t kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

// Of kRows rows and `kCount` vectors of columns.
template <int64_t kCount>
HWY_INLINE void multiply_part(const Product& p, const float* HWY_RESTRICT a,
                              const float* HWY_RESTRICT b,
                              float* HWY_RESTRICT to) {
  const Floats d;
  Vec sum[kRows][kCount];
#pragma GCC unroll 4
  for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int64_t v = 0; v < kCount; ++v)
      sum[r][v] =
          p.add ? hn::LoadU(d, to + r * p.to_row + v * kLanes) : hn::Zero(d);
  for (int64_t k = 0; k < p.inner; ++k) {
    Vec from[kCount];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kCount; ++v)
      from[v] = hn::LoadU(d, b + k * p.b_k + v * kLanes);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const Vec by = hn::Set(d, a[r * p.a_row + k * p.a_k]);
#pragma GCC unroll 4
      for (int64_t v = 0; v < kCount; ++v)
        sum[r][v] = hn::MulAdd(by, from[v], sum[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int64_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int64_t v = 0; v < kCount; ++v)
      hn::StoreU(sum[r][v], d, to + r * p.to_row + v * kLanes);
}

template <int64_t kCount>
HWY_INLINE void multiply_columns(const Product& p, int64_t column) {
  for (int64_t r = 0; r < p.rows; r += kRows)
    multiply_part<kCount>(p, p.a + r * p.a_row, p.b + column,
                          p.to + r * p.to_row + column);
}

void multiply(const Product& p) {
  int64_t column = 0;
  for (; column + kVectors * kLanes <= p.columns; column += kVectors * kLanes)
    multiply_columns<kVectors>(p, column);
  for (; column < p.columns; column += kLanes) multiply_columns<1>(p, column);
}

}  // namespace rondo::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::winograd {

HWY_EXPORT(tile_to_places);
HWY_EXPORT(places_to_result);
HWY_EXPORT(result_to_places);
HWY_EXPORT(filter_to_places);
HWY_EXPORT(places_to_filter);
HWY_EXPORT(multiply);

void tile_to_places(const Channels* tile, int64_t channels, Places to) {
  HWY_DYNAMIC_DISPATCH(tile_to_places)(tile, channels, to);
}

void places_to_result(Places from, int64_t channels, const Finish& finish,
                      const Channels* result) {
  HWY_DYNAMIC_DISPATCH(places_to_result)(from, channels, finish, result);
}

void result_to_places(const Channels* result, int64_t channels, Places to) {
  HWY_DYNAMIC_DISPATCH(result_to_places)(result, channels, to);
}

void filter_to_places(const float* filter, int64_t step, int64_t channels,
                      Places to) {
  HWY_DYNAMIC_DISPATCH(filter_to_places)(filter, step, channels, to);
}

void places_to_filter(Places from, int64_t count, int64_t next,
                      int64_t channels, float* filter, int64_t step) {
  HWY_DYNAMIC_DISPATCH(places_to_filter)
  (from, count, next, channels, filter, step);
}

void multiply(const Product& product) {
  HWY_DYNAMIC_DISPATCH(multiply)(product);
}

}  // namespace rondo::winograd
#endif
