// Images in memory, and their shape where it comes as a tensor of integers.
#pragma once

#include "rondo/tensor/tensor.h"

namespace rondo {

// Elements from one image, row, column and channel to the next.
struct ImageSteps {
  int64_t image = 0;
  int64_t row = 0;
  int64_t column = 0;
  int64_t channel = 0;

  static ImageSteps of(bool channels_last, int64_t channels, int64_t height,
                       int64_t width) {
    const int64_t image = channels * height * width;
    if (channels_last) return {image, width * channels, channels, 1};
    return {image, width, 1, height * width};
  }
  int64_t at(int64_t n, int64_t i, int64_t j, int64_t c) const {
    return n * image + i * row + j * column + c * channel;
  }
};

// Four extents; one of -1 in front means `batch`, unless that is -1 too. An
// error names the tensor.
Result<Shape> image_shape_in(const Tensor& ints, std::string_view name,
                             int64_t batch);

}  // namespace rondo
