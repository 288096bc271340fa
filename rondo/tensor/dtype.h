// DType: what one element of a tensor is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rondo/base/export.h"

namespace rondo {

// The numbers are part of the wire format and of the C API and never change.
enum class DType : uint8_t {
  kF64 = 0,
  kF32 = 1,
  kF16 = 2,
  kBF16 = 3,
  kI64 = 4,
  kI32 = 5,
  kI16 = 6,
  kI8 = 7,
  kU8 = 8,
  kBool = 9,
};
inline constexpr int kDTypeCount = 10;

// Bytes of one element.
RONDO_API size_t size_of(DType dtype);
// "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool".
RONDO_API std::string_view name_of(DType dtype);
RONDO_API std::optional<DType> dtype_from_name(std::string_view name);

// 16-bit floating-point numbers as their bits. Arithmetic goes through float.
struct RONDO_API Half {
  uint16_t bits = 0;
  static Half from_float(float f);  // rounds to nearest even
  float to_float() const;
};
struct RONDO_API BFloat16 {
  uint16_t bits = 0;
  static BFloat16 from_float(float f);  // rounds to nearest even, keeps NaN
  float to_float() const;
};

// The C++ types that elements have.
template <class T>
concept Element = std::same_as<T, double> || std::same_as<T, float> ||
    std::same_as<T, Half> || std::same_as<T, BFloat16> ||
    std::same_as<T, int64_t> || std::same_as<T, int32_t> ||
    std::same_as<T, int16_t> || std::same_as<T, int8_t> ||
    std::same_as<T, uint8_t> || std::same_as<T, bool>;

// dtype_of<float> is DType::kF32, and so on for every C++ element type.
template <class T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "no DType for this C++ type");
  return DType::kF32;
}();
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<Half> = DType::kF16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::kBF16;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;

}  // namespace rondo
