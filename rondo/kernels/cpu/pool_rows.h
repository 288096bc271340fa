// Pooling of rows of windows that lie within the image, in vectors.
#pragma once

#include <cstdint>

namespace rondo {

// Windows side by side, each of `lanes` channels. Steps are in elements.
struct WindowRow {
  // What the number of lanes is a multiple of.
  static constexpr int64_t kBlock = 16;
  int64_t count = 0;
  int64_t lanes = 0;
  int64_t height = 0, width = 0;  // of a window, at most 256 places
  int64_t row = 0, column = 0;    // from one element of a window to the next
  int64_t next = 0;               // from one window to the next
  int64_t out = 0;                // from one result to the next
};

// The largest element of each window, NaN where there is one, and its place.
void max_row(const WindowRow& s, const float* x, float* y, uint8_t* where);
// Each element of grad at its place in the window, zeros elsewhere. For windows
// that do not overlap.
void spread_row(const WindowRow& s, const float* grad, const uint8_t* where,
                float* x);

}  // namespace rondo
