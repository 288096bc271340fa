// Images of a tensor as bytes of pixels.
#pragma once

#include <vector>

#include "rondo/graph/attr.h"
#include "rondo/kernels/cpu/png.h"

namespace rondo {

// Pixels of image `index` of images [batch, height, width, channels]. Those of
// u8 are as they are. Others are scaled: the largest value is 255, or where
// some are negative 0 becomes 128 and the largest distance from it 127. Pixels
// with a channel that is not finite get `bad_color`.
std::vector<uint8_t> pixels_of(const Tensor& images, int64_t index,
                               const Ints& bad_color);

}  // namespace rondo
