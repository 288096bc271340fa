#include "rondo/trainer/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/trainer/test_images.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string said(const std::string& bytes) {
  const auto image = decode_image(bytes);
  return image.ok() ? "ok" : image.status().message();
}

TEST(Image, IsDecoded) {
  const Image drawn = test_image(6, 4, 200, 100, 50);
  const Image png = decode_image(png_bytes(drawn)).value();
  EXPECT_EQ(png.width, 6);
  EXPECT_EQ(png.height, 4);
  EXPECT_EQ(png.pixels, drawn.pixels);
  const Image jpeg = decode_image(jpeg_bytes(drawn)).value();
  EXPECT_EQ(jpeg.width, 6);
  ASSERT_EQ(jpeg.pixels.size(), drawn.pixels.size());
  // It loses a little.
  EXPECT_NEAR(jpeg.pixels[0], 200, 4);
  EXPECT_NEAR(jpeg.pixels[2], 50, 4);
}

TEST(Image, OfInksIsDecoded) {
  // Cyan, magenta, yellow and black: half of the light of red, a quarter of
  // green, none of blue.
  const auto inks = [](std::array<int, 4> each) {
    Image image{.width = 5, .height = 3};
    for (int i = 0; i < 5 * 3; ++i)
      for (const int ink : each)
        image.pixels.push_back(static_cast<uint8_t>(ink));
    return image;
  };
  // As Adobe writes it, 255 is no ink.
  const Image light = inks({255, 128, 0, 128});
  const Image dark = inks({0, 127, 255, 127});
  for (const std::string& file :
       {jpeg_bytes(light, JCS_CMYK, JCS_CMYK),
        jpeg_bytes(light, JCS_CMYK, JCS_YCCK),
        jpeg_bytes(dark, JCS_CMYK, JCS_CMYK, false)}) {
    const auto image = decode_image(file);
    ASSERT_TRUE(image.ok()) << image.status().message();
    ASSERT_EQ(image->pixels.size(), size_t{5 * 3 * 3});
    for (const size_t pixel : {size_t{0}, size_t{14}}) {
      EXPECT_NEAR(image->pixels[3 * pixel], 128, 4);
      EXPECT_NEAR(image->pixels[3 * pixel + 1], 64, 4);
      EXPECT_NEAR(image->pixels[3 * pixel + 2], 0, 4);
    }
  }
}

TEST(Image, ThatIsTooLargeIsNotRead) {
  std::string bytes = jpeg_bytes(test_image(8, 8, 1, 2, 3));
  // The frame's marker, its length and precision, and then two bytes each of
  // height and width.
  const size_t frame = bytes.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  bytes.replace(frame + 5, 4, "\x40\x00\x10\x01", 4);
  EXPECT_EQ(said(bytes),
            "4097 x 16384 pixels: an image may have up to 67108864; make it "
            "smaller");
}

TEST(Image, DamageIsSaid) {
  const Image drawn = test_image(64, 64, 200, 100, 50);
  for (const auto& [whole, kind] : {std::pair(png_bytes(drawn), "PNG"),
                                    std::pair(jpeg_bytes(drawn), "JPEG")}) {
    EXPECT_EQ(said(whole), "ok");
    for (const size_t length : {whole.size() / 2, size_t{12}})
      EXPECT_THAT(said(whole.substr(0, length)),
                  HasSubstr(fmt::format("a damaged {} image: ", kind)))
          << length;
  }
  EXPECT_THAT(said("GIF89a"), HasSubstr("neither a JPEG nor a PNG"));
  EXPECT_THAT(said(""), HasSubstr("neither a JPEG nor a PNG"));
}

TEST(Fit, TakesTheSquareInTheMiddle) {
  // Three columns: black, red, black.
  Image image = test_image(3, 1, 0, 0, 0);
  image.pixels[3] = 255;
  std::vector<uint8_t> fitted(3);
  fit(image, 1, 3, fitted);
  EXPECT_THAT(fitted, ElementsAre(255, 0, 0));
}

TEST(Fit, APixelIsTheMeanOfThose) {
  Image image = test_image(2, 2, 0, 0, 0);
  for (const size_t i : {0, 1, 2, 3, 4, 5}) image.pixels[i] = 100;
  std::vector<uint8_t> fitted(1);
  fit(image, 1, 1, fitted);
  EXPECT_THAT(fitted, ElementsAre(50));
}

TEST(Fit, SmallImagesGrow) {
  Image image = test_image(2, 2, 0, 0, 0);
  for (const size_t i : {0, 1, 2}) image.pixels[i] = 90;
  std::vector<uint8_t> fitted(16);
  fit(image, 4, 1, fitted);
  EXPECT_THAT(fitted,
              ElementsAre(90, 90, 0, 0, 90, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace rondo
