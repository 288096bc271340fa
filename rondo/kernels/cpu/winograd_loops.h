// The loops of Winograd's F(2x2, 5x5), by vectors of channels.
//
// Images are cut into tiles of 2x2 elements of the result, each of which comes
// from 6x6 elements of what is convolved. Tile, filter and result are brought
// to 36 places where a convolution is a product of each channel's number with
// each filter's: 9 products for an element instead of 25. What is there are the
// values of polynomials at six points, in both directions.
#pragma once

#include <cstdint>

namespace rondo::winograd {

inline constexpr int64_t kFilter = 5;
inline constexpr int64_t kOut = 2;
inline constexpr int64_t kTile = kFilter + kOut - 1;
inline constexpr int64_t kPlaces = kTile * kTile;
// Channels come in whole blocks of so many.
inline constexpr int64_t kBlock = 16;

// The channels of one element of an image: blocks of kBlock, `step` floats from
// one to the next.
struct Channels {
  float* first;
  int64_t step;
};

// Numbers at the places: that of channel c at place k is at[k * place + c].
struct Places {
  float* at;
  int64_t place;
};

// What becomes of an element of the result.
struct Finish {
  const float* bias = nullptr;  // of each channel, where there is one
  bool relu = false;
  float slope = 0;  // of relu, below 0
};

// `tile` are kTile x kTile elements.
void tile_to_places(const Channels* tile, int64_t channels, Places to);
// `result` are kOut x kOut elements; those without an address are left out.
void places_to_result(Places from, int64_t channels, const Finish& finish,
                      const Channels* result);
// The other way round, for gradients.
void result_to_places(const Channels* result, int64_t channels, Places to);
// `filter` are kFilter x kFilter elements, `step` floats from one to the next
// (backwards where that is below 0).
void filter_to_places(const float* filter, int64_t step, int64_t channels,
                      Places to);
// For the gradient: adds up `count` sets of places, `next` floats from one to
// the next.
void places_to_filter(Places from, int64_t count, int64_t next,
                      int64_t channels, float* filter, int64_t step);

// to[r, c] = (to[r, c] where `add`) + sum over k of a[r, k] b[k, c]. Rows are a
// multiple of kRows, columns of kBlock.
inline constexpr int64_t kRows = 4;
struct Product {
  const float* a;
  int64_t a_row;  // floats from one row to the next
  int64_t a_k;
  const float* b;
  int64_t b_k;
  float* to;
  int64_t to_row;
  int64_t rows;
  int64_t inner;
  int64_t columns;
  bool add;
};
void multiply(const Product& product);

}  // namespace rondo::winograd
