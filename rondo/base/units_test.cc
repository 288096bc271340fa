#include "rondo/base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::HasSubstr;

TEST(Units, Rates) {
  EXPECT_DOUBLE_EQ(parse_rate("1gbit").value(), 125e6);
  EXPECT_DOUBLE_EQ(parse_rate("1 Gbit/s").value(), 125e6);
  EXPECT_DOUBLE_EQ(parse_rate("100mbit").value(), 12.5e6);
  EXPECT_DOUBLE_EQ(parse_rate("12.5GB/s").value(), 12.5e9);
}

TEST(Units, Times) {
  EXPECT_DOUBLE_EQ(parse_seconds("50us").value(), 50e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5ms").value(), 1.5e-3);
  EXPECT_DOUBLE_EQ(parse_seconds("0.55").value(), 0.55);
  EXPECT_DOUBLE_EQ(parse_seconds("0").value(), 0);
}

TEST(Units, Numbers) {
  EXPECT_DOUBLE_EQ(parse_number("138.36M").value(), 138.36e6);
  EXPECT_DOUBLE_EQ(parse_number("64").value(), 64);
}

TEST(Units, Counts) {
  EXPECT_EQ(parse_count("138.36M", 1e15).value(), 138360000);
  EXPECT_EQ(parse_count("1.7e3", 1e15).value(), 1700);
  for (const std::string_view wrong :
       {"0.5", "1.5", "1.2345k", "1001T", "1e99", "0x10", "nan", "0", "-1", ""})
    EXPECT_FALSE(parse_count(wrong, 1e15).ok()) << wrong;
}

TEST(Units, WhatIsTooMuchIsRefused) {
  for (const std::string_view wrong :
       {"1e308gbit", "1e-3bit", "0x10gbit", "nangbit", "1e999gbit", " 1gbit"})
    EXPECT_FALSE(parse_rate(wrong).ok()) << wrong;
  for (const std::string_view wrong : {"1e300", "1e-300", "inf", "0x1"})
    EXPECT_FALSE(parse_seconds(wrong).ok()) << wrong;
  for (const std::string_view wrong : {"1e308T", "inf", "nan", "0x1p3"})
    EXPECT_FALSE(parse_number(wrong).ok()) << wrong;
}

TEST(Units, ErrorsSayWhatToWrite) {
  const auto said = [](const Result<double>& result) {
    return result.ok() ? std::string() : result.status().message();
  };
  EXPECT_THAT(said(parse_rate("fast")), HasSubstr("write it like 1gbit"));
  EXPECT_THAT(said(parse_rate("1gb")), HasSubstr("\"gb\" is no unit"));
  EXPECT_THAT(said(parse_rate("1")), HasSubstr("\"1\" has no unit"));
  EXPECT_THAT(said(parse_rate("-1gbit")), HasSubstr("more than zero"));
  EXPECT_THAT(said(parse_rate("0gbit")), HasSubstr("more than zero"));
  EXPECT_THAT(said(parse_rate("infgbit")), HasSubstr("no rate"));
  EXPECT_THAT(said(parse_seconds("-1us")), HasSubstr("not negative"));
  EXPECT_THAT(said(parse_seconds("5min")), HasSubstr("\"min\" is no unit"));
  EXPECT_THAT(said(parse_number("0")), HasSubstr("more than zero"));
}

TEST(Units, Texts) {
  EXPECT_EQ(rate_text(125e6), "1 Gbit/s");
  EXPECT_EQ(rate_text(13582e6), "109 Gbit/s");
  EXPECT_EQ(rate_option(125e6), "1gbit");
  EXPECT_EQ(rate_option(11.75e6), "94mbit");
  EXPECT_EQ(rate_option(124.99e6), "0.9999gbit");
  EXPECT_EQ(number_option(18.294e9), "18.29G");
  EXPECT_EQ(number_option(999.9e9), "0.9999T");
  EXPECT_EQ(number_option(4e14), "400T");
  EXPECT_EQ(bytes_text(553.44e6), "553 MB");
  EXPECT_EQ(bytes_text(999.9e6), "1 GB");
  EXPECT_EQ(seconds_text(7.19), "7.19 s");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(5e-5), "50 us");
  EXPECT_EQ(seconds_text(1e-11), "1e-05 us");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(1.4e-20), "0 s");  // what rounding leaves of nothing
}

}  // namespace
}  // namespace rondo
