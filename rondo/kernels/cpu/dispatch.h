// From a DType to the C++ type of its elements.
#pragma once

#include <cmath>
#include <type_traits>

#include "rondo/base/status.h"
#include "rondo/tensor/dtype.h"

namespace rondo {

// The type in which elements of T are computed.
template <class T>
using Computed =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>,
                       float, T>;

template <class T>
Computed<T> load(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return x.to_float();
  else
    return x;
}

template <class T>
T store(Computed<T> x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T::from_float(x);
  else
    return x;
}

// Of integers, none is.
template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

// f.template operator()<T>() for the element type; dispatch_any for all types,
// dispatch_number without bool, dispatch_float for floating point only.
template <class F>
auto dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF64: return f.template operator()<double>();
    case DType::kF32: return f.template operator()<float>();
    case DType::kF16: return f.template operator()<Half>();
    case DType::kBF16: return f.template operator()<BFloat16>();
    case DType::kI64: return f.template operator()<int64_t>();
    case DType::kI32: return f.template operator()<int32_t>();
    case DType::kI16: return f.template operator()<int16_t>();
    case DType::kI8: return f.template operator()<int8_t>();
    case DType::kU8: return f.template operator()<uint8_t>();
    case DType::kBool: return f.template operator()<bool>();
  }
  throw Error(Code::kInternal, "an element type that is none");
}

template <class F>
auto dispatch_number(DType dtype, F&& f) {
  if (dtype == DType::kBool)
    throw Error(Code::kInternal, "an element type that is no number");
  return dispatch_any(dtype, [&]<class T>() {
    // f is not made for bool.
    using Number = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    return f.template operator()<Number>();
  });
}

template <class F>
auto dispatch_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF64: return f.template operator()<double>();
    case DType::kF32: return f.template operator()<float>();
    case DType::kF16: return f.template operator()<Half>();
    case DType::kBF16: return f.template operator()<BFloat16>();
    default: break;
  }
  throw Error(Code::kInternal, "an element type that is no floating point");
}

}  // namespace rondo
