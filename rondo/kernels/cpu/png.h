// Images as PNG files.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rondo/base/status.h"

namespace rondo {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;  // 1: grey, 3: RGB, 4: RGBA
};

// The bytes of a PNG file; pixels row by row, a byte per channel.
Result<std::string> encode_png(const ImageSize& size,
                               std::span<const uint8_t> pixels);

}  // namespace rondo
