// Windows that move over images: what convolutions and pooling share. The
// rules of padding are TensorFlow's.
#pragma once

#include <array>

#include "rondo/graph/op.h"

namespace rondo {

// How a window moves; in pairs of height and width.
struct RONDO_API WindowOptions {
  std::array<int64_t, 2> strides = {1, 1};
  // "SAME": as many positions as ceil(extent / stride), padding as even as can
  // be with the odd element behind; "VALID": none; "EXPLICIT": `paddings`.
  std::string padding = "VALID";
  std::array<int64_t, 4> paddings = {};  // top, bottom, left, right
  std::array<int64_t, 2> dilations = {1, 1};
  std::string data_format = "NHWC";  // or "NCHW"

  bool channels_last() const;
  int channel_axis() const { return channels_last() ? 3 : 1; }
  // Of direction 0, height, or 1, width.
  int axis(int direction) const {
    return direction + (channels_last() ? 1 : 2);
  }
};

// The positions of a window in one direction: position i covers the elements
// i * stride - before + k * dilation for k in [0, size), of which those outside
// [0, in) are padding.
struct RONDO_API WindowAxis {
  int64_t in = 0;
  int64_t size = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t after = 0;
  int64_t out = 0;

  int64_t start(int64_t i) const { return i * stride - before; }
  // Of window element k at position i; outside [0, in): padding.
  int64_t at(int64_t i, int64_t k) const { return start(i) + k * dilation; }
  bool operator==(const WindowAxis&) const = default;
};

// The attributes of an operation with windows ("dilations" only where the
// operation has them); an error says which makes no sense.
RONDO_API Result<WindowOptions> window_options(const Attrs& attrs);
RONDO_API void set_window(Attrs& attrs, const WindowOptions& options,
                          bool dilations);
// The attributes of a window for an operation's definition.
std::vector<AttrSpec> window_attrs(bool dilations);

// A window of `size` over `in` elements in one direction. With an unknown
// extent (kAny) the padding means nothing and `out` is kAny where it depends on
// that extent.
RONDO_API Result<WindowAxis> window_axis(const WindowOptions& options,
                                         int direction, int64_t in,
                                         int64_t size);

// The shape that input i, a vector of integers, has the value of; of unknown
// extents where it is not known.
PartialShape image_shape_from(const InferContext& c, int i);

}  // namespace rondo
