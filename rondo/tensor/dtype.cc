#include "rondo/tensor/dtype.h"

#include <array>
#include <bit>

namespace rondo {
namespace {

struct Row {
  std::string_view name;
  size_t size;
};
// Indexed by DType.
constexpr std::array<Row, kDTypeCount> kRows = {{{"f64", 8},
                                                 {"f32", 4},
                                                 {"f16", 2},
                                                 {"bf16", 2},
                                                 {"i64", 8},
                                                 {"i32", 4},
                                                 {"i16", 2},
                                                 {"i8", 1},
                                                 {"u8", 1},
                                                 {"bool", 1}}};

}  // namespace

size_t size_of(DType dtype) { return kRows[static_cast<size_t>(dtype)].size; }

std::string_view name_of(DType dtype) {
  return kRows[static_cast<size_t>(dtype)].name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

Half Half::from_float(float f) {
  const auto all = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (all >> 16) & 0x8000u;
  const uint32_t magnitude = all & 0x7fffffffu;
  uint32_t bits;
  if (magnitude > 0x7f800000u) {  // NaN: quiet, with what fits of the payload
    bits = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
    bits = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14 the result is subnormal, a multiple of 2^-24. That is the
    // spacing of floats in [0.5, 1), so the addition does the rounding.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = std::bit_cast<uint32_t>(shifted) - 0x3f000000u;
  } else {
    const uint32_t odd = (magnitude >> 13) & 1u;
    bits = (magnitude + 0xfffu + odd - (112u << 23)) >> 13;
  }
  return Half{static_cast<uint16_t>(sign | bits)};
}

float Half::to_float() const {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  uint32_t magnitude;
  if (exponent == 0) {
    magnitude =
        std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
  } else if (exponent == 31) {
    magnitude = 0x7f800000u | (fraction << 13) | (fraction ? 0x400000u : 0u);
  } else {
    magnitude = ((exponent + 112u) << 23) | (fraction << 13);
  }
  return std::bit_cast<float>(sign | magnitude);
}

BFloat16 BFloat16::from_float(float f) {
  const auto all = std::bit_cast<uint32_t>(f);
  // Rounding up could turn a NaN into an infinity, so NaNs are cut instead.
  if ((all & 0x7fffffffu) > 0x7f800000u)
    return BFloat16{static_cast<uint16_t>((all >> 16) | 0x40u)};
  const uint32_t odd = (all >> 16) & 1u;
  return BFloat16{static_cast<uint16_t>((all + 0x7fffu + odd) >> 16)};
}

float BFloat16::to_float() const {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace rondo
