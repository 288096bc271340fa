// Convolutions of images. Pooling is in pool.h.
#pragma once

#include "rondo/graph/graph.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/graph/ops/window.h"

namespace rondo {

struct Conv2DOptions : WindowOptions {
  // Channels in and out fall into so many groups that have nothing to do with
  // each other.
  int64_t groups = 1;
  // Whether it may be faster at the cost of some precision.
  bool winograd = true;
  std::string name = {};
};

// `filter` is [height, width, channels in / groups, channels out].
RONDO_API Value conv2d(Value x, Value filter,
                       const Conv2DOptions& options = {});
// What conv2d of an image of `input_shape` sends back to the image. The batch
// of input_shape may be -1: that of grad.
RONDO_API Value conv2d_backprop_input(Value input_shape, Value filter,
                                      Value grad,
                                      const Conv2DOptions& options = {});
// What conv2d with a filter of `filter_shape` sends back to the filter.
RONDO_API Value conv2d_backprop_filter(Value x, Value filter_shape, Value grad,
                                       const Conv2DOptions& options = {});

// `filter` is [height, width, channels, multiplier]; channel c of x gives the
// channels c * multiplier + m. options.groups is of no meaning.
RONDO_API Value depthwise_conv2d(Value x, Value filter,
                                 const Conv2DOptions& options = {});
RONDO_API Value
depthwise_conv2d_backprop_input(Value input_shape, Value filter, Value grad,
                                const Conv2DOptions& options = {});
RONDO_API Value depthwise_conv2d_backprop_filter(
    Value x, Value filter_shape, Value grad, const Conv2DOptions& options = {});

// The transpose of conv2d: an image of `output_shape` from x, which is what
// conv2d with these options makes of such an image. `filter` is [height, width,
// channels out, channels in].
RONDO_API Value conv2d_transpose(Value x, Value filter, Value output_shape,
                                 const Conv2DOptions& options = {});
// With the usual shape: extents times the stride for "SAME", else the smallest
// that x can have come from. Height and width of x must be known.
RONDO_API Value conv2d_transpose(Value x, Value filter,
                                 const Conv2DOptions& options = {});

// What a convolution makes of an image of shape x; for infer functions and
// kernels. An error names what does not fit.
RONDO_API Result<PartialShape> conv_output_shape(const PartialShape& x,
                                                 const PartialShape& filter,
                                                 const Attrs& attrs,
                                                 bool depthwise);

}  // namespace rondo
