#include "rondo/base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace rondo {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// lab/rates.py reads rates in the same way.
constexpr Unit kRates[] = {
    {"bit", 1.0 / 8},   {"kbit", 1e3 / 8},     {"mbit", 1e6 / 8},
    {"gbit", 1e9 / 8},  {"tbit", 1e12 / 8},    {"B", 1},
    {"kB", 1e3},        {"KB", 1e3},           {"MB", 1e6},
    {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
    {"MiB", 1048576.0}, {"GiB", 1073741824.0},
};
constexpr Unit kTimes[] = {
    {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"µs", 1e-6}, {"ns", 1e-9},
};
constexpr Unit kNumbers[] = {
    {"", 1},    {"k", 1e3}, {"K", 1e3},  {"M", 1e6},
    {"G", 1e9}, {"B", 1e9}, {"T", 1e12},
};

// A number and what stands behind it; nothing where there is no number.
struct Quantity {
  double number = 0;
  std::string_view unit;
};
Result<Quantity> split(std::string_view text) {
  double number = 0;
  const auto [end, failed] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || !std::isfinite(number))
    return error(Code::kInvalidArgument, "no number");
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  return Quantity{number, unit};
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return result;
}

// nullptr where there is none of this name; bits may be written in any case.
const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units)
    if (unit.name == name) return &unit;
  const std::string small = lower(name);
  if (!small.ends_with("bit")) return nullptr;
  for (const Unit& unit : units)
    if (unit.name == small) return &unit;
  return nullptr;
}

struct Wanted {
  std::string_view what;
  std::span<const Unit> units;
  std::string_view examples;
  bool zero = false;  // whether it may be
  // What else there is, in bytes or seconds, and in words.
  double least = 0;
  double most = std::numeric_limits<double>::max();
  std::string_view range = "";
};

Result<double> parse(std::string_view text, const Wanted& wanted) {
  const Result<Quantity> found = split(text);
  if (!found.ok())
    return error(Code::kInvalidArgument, "\"{}\" is no {}: write it like {}",
                 text, wanted.what, wanted.examples);
  const Unit* unit = find_unit(wanted.units, found->unit);
  if (unit == nullptr && found->unit.empty())
    return error(Code::kInvalidArgument,
                 "\"{}\" has no unit; write a {} like {}", text, wanted.what,
                 wanted.examples);
  if (unit == nullptr)
    return error(Code::kInvalidArgument,
                 "\"{}\": \"{}\" is no unit of a {}; write it like {}", text,
                 found->unit, wanted.what, wanted.examples);
  if (found->number < 0 || (found->number == 0 && !wanted.zero))
    return error(Code::kInvalidArgument, "\"{}\": a {} is {}, such as {}", text,
                 wanted.what, wanted.zero ? "not negative" : "more than zero",
                 wanted.examples);
  const double value = found->number * unit->factor;
  if (value != 0 && !(value >= wanted.least && value <= wanted.most))
    return error(Code::kInvalidArgument, "\"{}\": a {} is {}", text,
                 wanted.what, wanted.range);
  return value;
}

// With the largest prefix that leaves a digit before the point.
struct Prefixed {
  double value;
  std::string_view prefix;
};
Prefixed prefixed(double value) {
  static constexpr std::array<std::string_view, 5> kPrefixes = {"", "k", "M",
                                                                "G", "T"};
  size_t i = 0;
  for (; i + 1 < kPrefixes.size() && value >= 999.5; ++i) value /= 1e3;
  return {value, kPrefixes[i]};
}

std::string with_prefix(double value, std::string_view unit) {
  const Prefixed short_of = prefixed(value);
  return fmt::format("{:.3g} {}{}", short_of.value, short_of.prefix, unit);
}

}  // namespace

Result<double> parse_rate(std::string_view text) {
  std::string_view bare = text;
  if (bare.ends_with("/s")) bare.remove_suffix(2);
  return parse(bare, {.what = "rate",
                      .units = kRates,
                      .examples = "1gbit, 100mbit or 12.5GB/s",
                      .least = 1.0 / 8,
                      .most = 1e15 / 8,
                      .range = "from 1bit to 1000tbit"});
}

Result<double> parse_seconds(std::string_view text) {
  return parse(text, {.what = "time",
                      .units = kTimes,
                      .examples = "50us, 1.5ms or 0.55",
                      .zero = true,
                      .least = 1e-12,
                      .most = 1e9,
                      .range = "0, or from 0.001ns to 1e9s"});
}

Result<double> parse_number(std::string_view text) {
  return parse(text, {.what = "number",
                      .units = kNumbers,
                      .examples = "138360000 or 138.36M",
                      .range = "at most 1e308"});
}

Result<double> parse_count(std::string_view text, double most,
                           std::string_view examples) {
  RONDO_ASSIGN_OR_RETURN(const double value,
                         parse(text, {.what = "number",
                                      .units = kNumbers,
                                      .examples = examples,
                                      .range = "at most 1e308"}));
  const double whole = std::round(value);
  // 138.36M is a whole number, but not to the last bit.
  if (whole < 1 || std::abs(value - whole) > 1e-12 * value || whole > most)
    return error(Code::kInvalidArgument,
                 "\"{}\": give a whole number from 1 to {:g}, such as {}", text,
                 most, examples);
  return whole;
}

std::string rate_text(double bytes_per_s) {
  return with_prefix(bytes_per_s * 8, "bit/s");
}

std::string rate_option(double bytes_per_s) {
  const Prefixed bits = prefixed(bytes_per_s * 8);
  return fmt::format("{:.4g}{}bit", bits.value, lower(bits.prefix));
}

std::string bytes_text(double bytes) { return with_prefix(bytes, "B"); }

std::string number_option(double number) {
  const Prefixed short_of = prefixed(number);
  return fmt::format("{:.4g}{}", short_of.value, short_of.prefix);
}

std::string seconds_text(double seconds) {
  constexpr double kRounding = 1e-13;  // less than any time that can be given
  if (std::abs(seconds) < kRounding) return "0 s";
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace rondo
