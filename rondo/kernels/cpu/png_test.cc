#include "rondo/kernels/cpu/png.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

uint32_t number_at(const std::string& file, size_t at) {
  uint32_t x = 0;
  for (size_t i = 0; i < 4; ++i)
    x = x << 8 | static_cast<unsigned char>(file[at + i]);
  return x;
}

TEST(Png, ChunksHoldThePixels) {
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::string file =
      encode_png({.height = 2, .width = 2, .channels = 3}, pixels).value();
  ASSERT_THAT(file, StartsWith("\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(file.substr(12, 4), "IHDR");
  EXPECT_EQ(number_at(file, 16), 2u);
  EXPECT_EQ(number_at(file, 20), 2u);
  EXPECT_EQ(file.substr(24, 5), std::string("\x08\x02\0\0\0", 5));
  const uint32_t length = number_at(file, 33);
  EXPECT_EQ(file.substr(37, 4), "IDAT");
  EXPECT_EQ(number_at(file, 41 + length),
            ::crc32(0, reinterpret_cast<const Bytef*>(&file[37]), length + 4));
  std::vector<uint8_t> rows(14);
  uLongf bytes = rows.size();
  ASSERT_EQ(::uncompress(rows.data(), &bytes,
                         reinterpret_cast<const Bytef*>(&file[41]), length),
            Z_OK);
  EXPECT_THAT(rows, testing::ElementsAre(0, 1, 2, 3, 4, 5, 6,  //
                                         0, 7, 8, 9, 10, 11, 12));
  EXPECT_EQ(file.substr(file.size() - 8, 4), "IEND");
}

TEST(Png, RefusesWhatNoFileCanHold) {
  EXPECT_THAT(encode_png({1, 1, 2}, {}).status().message(),
              HasSubstr("2 channels, expected 1, 3 or 4"));
  EXPECT_THAT(encode_png({0, 3, 1}, {}).status().message(),
              HasSubstr("0 x 3 pixels"));
  EXPECT_THAT(encode_png({int64_t{1} << 31, 1, 1}, {}).status().message(),
              HasSubstr("cannot be a PNG file"));
}

}  // namespace
}  // namespace rondo
