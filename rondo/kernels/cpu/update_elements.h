// Updates of a range of a variable of any floating-point type: what kernels and
// parameter servers share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/update_rules.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// A variable's values and its slots', held for one update.
struct UpdateTarget {
  Tensor* parameter = nullptr;
  Tensor* slots[kMostSlots] = {};
  size_t slot_count = 0;
};

// Updates elements [begin, begin + count), with `gradient` from its own
// beginning.
template <class T>
void update_elements(UpdateRule rule, const UpdateRates& rates,
                     const UpdateTarget& at, int64_t begin, const T* gradient,
                     int64_t count) {
  auto from = [&](Tensor* t) { return t->span<T>().data() + begin; };
  if constexpr (std::is_same_v<T, Computed<T>>) {
    UpdateRange range{
        from(at.parameter), gradient, {}, static_cast<size_t>(count)};
    for (size_t k = 0; k < at.slot_count; ++k)
      range.slots[k] = from(at.slots[k]);
    update_range(rule, dtype_of<T>, rates, range);
  } else {
    // 16-bit numbers in pieces, through arrays of float.
    constexpr int64_t kPiece = 256;
    float values[2 + kMostSlots][kPiece];
    for (int64_t i = 0; i < count; i += kPiece) {
      const int64_t n = std::min(kPiece, count - i);
      UpdateRange range{values[0],
                        values[1],
                        {values[2], values[3], values[4]},
                        static_cast<size_t>(n)};
      auto get = [&](float* to, const T* source) {
        for (int64_t k = 0; k < n; ++k) to[k] = source[i + k].to_float();
      };
      auto put = [&](T* to, const float* source) {
        for (int64_t k = 0; k < n; ++k) to[i + k] = T::from_float(source[k]);
      };
      get(values[0], from(at.parameter));
      get(values[1], gradient);
      for (size_t k = 0; k < at.slot_count; ++k)
        get(values[2 + k], from(at.slots[k]));
      update_range(rule, DType::kF32, rates, range);
      put(from(at.parameter), values[0]);
      for (size_t k = 0; k < at.slot_count; ++k)
        put(from(at.slots[k]), values[2 + k]);
    }
  }
}

}  // namespace rondo
