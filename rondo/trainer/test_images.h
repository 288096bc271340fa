// Images, and files of them, for tests.
#pragma once

// jpeglib.h needs the first.
#include <cstdio>
// clang-format off
#include <jpeglib.h>
// clang-format on

#include <cstdlib>
#include <string>

#include "rondo/kernels/cpu/png.h"
#include "rondo/trainer/image.h"

namespace rondo {

// All of one colour.
inline Image test_image(int width, int height, int red, int green, int blue) {
  Image image{.width = width, .height = height};
  for (int i = 0; i < width * height; ++i)
    for (const int value : {red, green, blue})
      image.pixels.push_back(static_cast<uint8_t>(value));
  return image;
}

inline std::string png_bytes(const Image& image) {
  return encode_png({image.height, image.width, 3}, image.pixels).value();
}

// What libjpeg makes of these pixels, which have as many bytes each as
// `from` says.
inline std::string jpeg_bytes(const Image& image, J_COLOR_SPACE from,
                              J_COLOR_SPACE to, bool adobe = true) {
  const int channels = from == JCS_CMYK ? 4 : 3;
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = channels;
  info.in_color_space = from;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, to);
  if (!adobe) info.write_Adobe_marker = FALSE;
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    // libjpeg does not write to it.
    auto* row = const_cast<JSAMPROW>(
        image.pixels.data() + info.next_scanline * image.width * channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  std::free(memory);
  return bytes;
}
inline std::string jpeg_bytes(const Image& image) {
  return jpeg_bytes(image, JCS_RGB, JCS_YCbCr);
}

}  // namespace rondo
