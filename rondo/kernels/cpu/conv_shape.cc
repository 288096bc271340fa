#include "rondo/kernels/cpu/conv_shape.h"

#include "rondo/graph/ops/conv.h"

namespace rondo {

Result<ConvShape> conv_shape(const Shape& x, const Shape& filter,
                             const Attrs& attrs, bool depthwise) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape y,
                         conv_output_shape(x, filter, attrs, depthwise));
  RONDO_ASSIGN_OR_RETURN(const WindowOptions window, window_options(attrs));
  ConvShape shape;
  shape.batch = x[0];
  shape.channels_last = window.channels_last();
  shape.in_channels = x[window.channel_axis()];
  shape.out_channels = y[window.channel_axis()];
  shape.groups = depthwise ? shape.in_channels : attrs.get<int64_t>("groups");
  RONDO_ASSIGN_OR_RETURN(shape.height,
                         window_axis(window, 0, x[window.axis(0)], filter[0]));
  RONDO_ASSIGN_OR_RETURN(shape.width,
                         window_axis(window, 1, x[window.axis(1)], filter[1]));
  return shape;
}

}  // namespace rondo
