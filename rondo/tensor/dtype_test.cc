#include "rondo/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rondo {
namespace {

TEST(DType, NamesAndSizesGoBothWays) {
  const size_t sizes[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(size_of(dtype), sizes[i]) << name_of(dtype);
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  }
  EXPECT_EQ(name_of(DType::kBF16), "bf16");
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(dtype_of<int8_t>, DType::kI8);
}

// What the bits of a 16-bit number mean, from the definition of the format.
double value_of(uint16_t bits, int fraction_bits, int bias) {
  const int exponent_bits = 15 - fraction_bits;
  const int top = (1 << exponent_bits) - 1;
  const int exponent = (bits >> fraction_bits) & top;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == top)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  const int implicit = exponent == 0 ? 0 : 1 << fraction_bits;
  return sign * std::ldexp(implicit + fraction,
                           std::max(exponent, 1) - bias - fraction_bits);
}

template <class T>
void check_every_pattern(int fraction_bits, int bias) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const T number{static_cast<uint16_t>(bits)};
    const double want = value_of(number.bits, fraction_bits, bias);
    const float got = number.to_float();
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      EXPECT_TRUE(std::isnan(T::from_float(got).to_float())) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), want) << bits;
    ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(T::from_float(got).bits, number.bits);
  }
}

// Between every two neighbours: the middle goes to the even one, and the floats
// beside the middle go to the nearer one.
template <class T>
void check_rounding(uint16_t largest) {
  for (uint16_t bits = 0; bits < largest; ++bits) {
    const auto above = static_cast<uint16_t>(bits + 1);
    const float low = T{bits}.to_float();
    const float high = T{above}.to_float();
    const float middle = low + (high - low) / 2;
    const uint16_t even = bits % 2 == 0 ? bits : above;
    ASSERT_EQ(T::from_float(middle).bits, even);
    ASSERT_EQ(T::from_float(-middle).bits, even | 0x8000);
    ASSERT_EQ(T::from_float(std::nextafter(middle, low)).bits, bits);
    ASSERT_EQ(T::from_float(std::nextafter(middle, high)).bits, above);
  }
}

TEST(Half, EveryPatternMeansWhatItShould) { check_every_pattern<Half>(10, 15); }

TEST(Half, RoundsToNearestEven) { check_rounding<Half>(0x7bff); }

TEST(Half, LargeNumbersBecomeInfinite) {
  EXPECT_EQ(Half::from_float(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Half::from_float(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half::from_float(-1e30f).bits, 0xfc00);
}

TEST(BFloat16, EveryPatternMeansWhatItShould) {
  check_every_pattern<BFloat16>(7, 127);
}

TEST(BFloat16, RoundsToNearestEven) { check_rounding<BFloat16>(0x7f7f); }

TEST(BFloat16, LargeNumbersBecomeInfinite) {
  EXPECT_EQ(BFloat16::from_float(std::numeric_limits<float>::max()).bits,
            0x7f80);
}

TEST(BFloat16, NanWithLowPayloadOnlyStaysNan) {
  // Cutting the bits off would leave an infinity, rounding up a zero.
  const float low = std::bit_cast<float>(0x7f800001u);
  const float all = std::bit_cast<float>(0xffffffffu);
  EXPECT_TRUE(std::isnan(BFloat16::from_float(low).to_float()));
  EXPECT_TRUE(std::isnan(BFloat16::from_float(all).to_float()));
}

}  // namespace
}  // namespace rondo
