// Image: the pixels of a JPEG or PNG file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> pixels = {};  // red, green, blue; row by row
};

// Whether bytes begin as those of a JPEG or PNG file do; 8 are enough.
bool begins_as_image(std::string_view bytes);
// What is transparent becomes white.
Result<Image> decode_image(std::string_view bytes);
// An error names the file.
Result<Image> read_image_file(const std::string& path);

// The largest square in its middle, as side * side pixels of 3 channels, or of
// 1: its brightness. A pixel is the mean of those that fall on it.
void fit(const Image& image, int64_t side, int64_t channels,
         std::span<uint8_t> into);

}  // namespace rondo
