// A PNG file is a signature and chunks:
//
//   file  = signature IHDR IDAT IEND
//   chunk = length:u32 name:4 data:length crc32(name data):u32
//   IHDR  = width:u32 height:u32 depth:u8 colour:u8 0 0 0
//   IDAT  = zlib of rows, each a filter (0: none) and its pixels
//
// Numbers are big endian.
#include "rondo/kernels/cpu/png.h"

#include <zlib.h>

#include <limits>

namespace rondo {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max();

void put(std::string& to, uint32_t x) {
  for (const int shift : {24, 16, 8, 0})
    to.push_back(static_cast<char>(x >> shift & 0xFF));
}

void put_chunk(std::string& to, std::string_view name, std::string_view data) {
  put(to, static_cast<uint32_t>(data.size()));
  const size_t start = to.size();
  to += name;
  to += data;
  put(to, static_cast<uint32_t>(
              ::crc32(0, reinterpret_cast<const Bytef*>(to.data() + start),
                      static_cast<uInt>(to.size() - start))));
}

Result<std::string> compressed(const std::string& rows) {
  uLongf bytes = ::compressBound(static_cast<uLong>(rows.size()));
  std::string data(bytes, '\0');
  const int done =
      ::compress2(reinterpret_cast<Bytef*>(data.data()), &bytes,
                  reinterpret_cast<const Bytef*>(rows.data()),
                  static_cast<uLong>(rows.size()), Z_DEFAULT_COMPRESSION);
  if (done != Z_OK)
    return error(Code::kResource, "zlib cannot compress an image: {}",
                 ::zError(done));
  data.resize(bytes);
  return data;
}

}  // namespace

Result<std::string> encode_png(const ImageSize& size,
                               std::span<const uint8_t> pixels) {
  const auto [height, width, channels] = size;
  if (channels != 1 && channels != 3 && channels != 4)
    return error(Code::kInvalidArgument,
                 "an image has {} channels, expected 1, 3 or 4", channels);
  if (height < 1 || width < 1 || height > kMostPixels / width / channels)
    return error(Code::kInvalidArgument,
                 "an image of {} x {} pixels cannot be a PNG file", height,
                 width);
  const auto row = static_cast<size_t>(width * channels);
  std::string rows;
  rows.reserve((row + 1) * static_cast<size_t>(height));
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    rows.push_back(0);
    rows.append(reinterpret_cast<const char*>(pixels.data()) + y * row, row);
  }
  RONDO_ASSIGN_OR_RETURN(const std::string data, compressed(rows));
  std::string header;
  put(header, static_cast<uint32_t>(width));
  put(header, static_cast<uint32_t>(height));
  header.push_back(8);
  header.push_back(channels == 1 ? 0 : channels == 3 ? 2 : 6);
  header.append(3, '\0');
  std::string file(kSignature);
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", data);
  put_chunk(file, "IEND", {});
  return file;
}

}  // namespace rondo
