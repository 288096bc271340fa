#include "rondo/trainer/image.h"

// jpeglib.h needs the first.
#include <cstdio>
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <fstream>
#include <iterator>

namespace rondo {
namespace {

// An image is in memory as a whole, three bytes a pixel.
constexpr int64_t kMostPixels = int64_t{1} << 26;
constexpr std::string_view kJpeg = "\xff\xd8\xff";
constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";

Status check_size(int64_t width, int64_t height) {
  if (width > 0 && height > 0 && width <= kMostPixels / height) return {};
  return error(Code::kInvalidArgument,
               "{} x {} pixels: an image may have up to {}; make it smaller",
               width, height, kMostPixels);
}

// How libjpeg says what is wrong.
struct JpegFailure {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  std::array<char, JMSG_LENGTH_MAX> text;
};

void fail(j_common_ptr info) {
  auto* failure = reinterpret_cast<JpegFailure*>(info->err);
  info->err->format_message(info, failure->text.data());
  std::longjmp(failure->back, 1);
}

// Of warnings, those that mean that a part of the image is missing.
void warn(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
    fail(info);
}

// libjpeg makes no RGB of inks.
bool has_inks(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

// Cyan, magenta, yellow and black as red, green and blue. In files with Adobe's
// mark, which are nearly all, 255 is no ink.
void mix_inks(const uint8_t* inks, int64_t width, bool inverted, uint8_t* to) {
  const auto light = [&](uint8_t ink) { return inverted ? ink : 255 - ink; };
  for (int64_t x = 0; x < width; ++x, inks += 4)
    for (int i = 0; i < 3; ++i)
      *to++ =
          static_cast<uint8_t>((light(inks[i]) * light(inks[3]) + 127) / 255);
}

// False: see `failure`. libjpeg leaves by longjmp, so nothing here has a
// destructor.
bool read_head(jpeg_decompress_struct& info, JpegFailure& failure,
               std::string_view bytes) {
  info.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = fail;
  failure.manager.emit_message = warn;
  if (setjmp(failure.back) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = has_inks(info) ? JCS_CMYK : JCS_RGB;
  jpeg_calc_output_dimensions(&info);
  return true;
}

bool read_rows(jpeg_decompress_struct& info, JpegFailure& failure,
               uint8_t* pixels) {
  if (setjmp(failure.back) != 0) return false;
  jpeg_start_decompress(&info);
  // libjpeg's own memory, which goes with `info`.
  JSAMPARRAY inks =
      info.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE,
                             info.output_width * 4, 1);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row =
        pixels + size_t{info.output_scanline} * info.output_width * 3;
    jpeg_read_scanlines(&info, has_inks(info) ? inks : &row, 1);
    if (has_inks(info))
      mix_inks(inks[0], info.output_width, info.saw_Adobe_marker == TRUE, row);
  }
  jpeg_finish_decompress(&info);
  return true;
}

Result<Image> decode_jpeg(std::string_view bytes) {
  jpeg_decompress_struct info{};
  JpegFailure failure{};
  Image image;
  Status status;
  bool whole = read_head(info, failure, bytes);
  if (whole) {
    image.width = info.output_width;
    image.height = info.output_height;
    status = check_size(image.width, image.height);
  }
  if (whole && status.ok()) {
    image.pixels.resize(static_cast<size_t>(image.width * image.height * 3));
    whole = read_rows(info, failure, image.pixels.data());
  }
  jpeg_destroy_decompress(&info);
  if (!whole)
    return error(Code::kInvalidArgument, "a damaged JPEG image: {}",
                 failure.text.data());
  RONDO_RETURN_IF_ERROR(status);
  return image;
}

Result<Image> decode_png(std::string_view bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  Image image;
  Status status;
  const png_color white = {255, 255, 255};
  bool whole =
      png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) != 0;
  if (whole) {
    png.format = PNG_FORMAT_RGB;
    image.width = png.width;
    image.height = png.height;
    status = check_size(image.width, image.height);
  }
  if (whole && status.ok()) {
    image.pixels.resize(PNG_IMAGE_SIZE(png));
    whole = png_image_finish_read(&png, &white, image.pixels.data(), 0,
                                  nullptr) != 0;
  }
  const std::string why = png.message;
  png_image_free(&png);
  if (!whole)
    return error(Code::kInvalidArgument, "a damaged PNG image: {}", why);
  RONDO_RETURN_IF_ERROR(status);
  return image;
}

}  // namespace

bool begins_as_image(std::string_view bytes) {
  return bytes.starts_with(kJpeg) || bytes.starts_with(kPng);
}

Result<Image> decode_image(std::string_view bytes) {
  if (bytes.starts_with(kJpeg)) return decode_jpeg(bytes);
  if (bytes.starts_with(kPng)) return decode_png(bytes);
  return error(Code::kInvalidArgument, "neither a JPEG nor a PNG image");
}

Result<Image> read_image_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file)
    return error(Code::kInvalidArgument, "\"{}\" cannot be read", path);
  auto image = decode_image(bytes);
  if (!image.ok())
    return error(Code::kInvalidArgument, "\"{}\": {}", path,
                 image.status().message());
  return image;
}

void fit(const Image& image, int64_t side, int64_t channels,
         std::span<uint8_t> into) {
  const int64_t cut = std::min(image.width, image.height);
  const int64_t left = (image.width - cut) / 2;
  const int64_t top = (image.height - cut) / 2;
  // What falls on pixel `at`; one at least, where the image is smaller.
  const auto begin = [&](int64_t at) { return at * cut / side; };
  const auto end = [&](int64_t at) {
    return std::max(begin(at) + 1, begin(at + 1));
  };
  uint8_t* to = into.data();
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x) {
      std::array<int64_t, 3> sums{};
      for (int64_t row = begin(y); row < end(y); ++row) {
        const uint8_t* from = image.pixels.data() +
                              ((top + row) * image.width + left + begin(x)) * 3;
        for (int64_t i = 0; i < (end(x) - begin(x)) * 3; ++i)
          sums[static_cast<size_t>(i % 3)] += from[i];
      }
      const int64_t count = (end(x) - begin(x)) * (end(y) - begin(y));
      for (int64_t& sum : sums) sum = (sum + count / 2) / count;
      if (channels == 1)
        *to++ = static_cast<uint8_t>(
            (299 * sums[0] + 587 * sums[1] + 114 * sums[2] + 500) / 1000);
      else
        for (const int64_t mean : sums) *to++ = static_cast<uint8_t>(mean);
    }
}

}  // namespace rondo
