// Rates, times and numbers as people write them: 1gbit, 50us, 138.36M.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

// Bytes a second: "100mbit", "1gbit/s", "12.5GB/s"; bits are always written
// out, and bytes have a capital B. From 1 bit/s to 1000 Tbit/s.
Result<double> parse_rate(std::string_view text);
// Seconds: "50us", "1.5ms", "0.55s", "0.55". Zero, or from 1 ps to 1e9 s.
Result<double> parse_seconds(std::string_view text);
// "138360000", "138.36M", "64k". More than zero, and finite.
Result<double> parse_number(std::string_view text);
// The same, but whole and no more than `most`. An error shows the examples.
Result<double> parse_count(std::string_view text, double most,
                           std::string_view examples = "138360000 or 138.36M");

// Three digits and a unit.
std::string rate_text(double bytes_per_s);  // in bits: "1 Gbit/s"
// The same to four digits, as parse_rate reads it: "1gbit".
std::string rate_option(double bytes_per_s);
// As parse_number reads it: "18.3G".
std::string number_option(double number);
std::string bytes_text(double bytes);      // "553 MB"
std::string seconds_text(double seconds);  // "7.19 s"

}  // namespace rondo
