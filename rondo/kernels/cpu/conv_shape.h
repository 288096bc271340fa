// ConvShape: all extents of one convolution, forward or backward.
#pragma once

#include "rondo/graph/ops/window.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// x [batch, in_channels, height.in, width.in] convolved with a filter [height,
// width, in_channels / groups, out_channels] is y. A depthwise convolution is
// one with as many groups as channels in: its filter [height, width, channels,
// multiplier] has the same elements in the same order.
struct ConvShape {
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t groups = 1;
  WindowAxis height;
  WindowAxis width;
  bool channels_last = true;

  int64_t group_in() const { return groups == 0 ? 0 : in_channels / groups; }
  int64_t group_out() const { return groups == 0 ? 0 : out_channels / groups; }
  Shape y() const {
    if (channels_last) return {batch, height.out, width.out, out_channels};
    return {batch, out_channels, height.out, width.out};
  }
  bool operator==(const ConvShape&) const = default;
};

enum class ConvDirection { kForward, kBackwardInput, kBackwardFilter };

// An error names what does not fit.
Result<ConvShape> conv_shape(const Shape& x, const Shape& filter,
                             const Attrs& attrs, bool depthwise);

}  // namespace rondo
