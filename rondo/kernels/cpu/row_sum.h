// Adding rows up where indices say.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo::array {

// a + b; integers wrap around.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

// y[o, rows[k], :] is the sum of x[o, k, :] over all k, with `view` the shape
// of y. Every thread has rows of y of its own and reads all of `rows`, so sums
// come in the order of k on any number of threads. 16-bit elements add up as
// floats.
template <class T>
void sum_rows(const T* x, T* y, const AxisView& view,
              std::span<const int64_t> rows) {
  using Sum = Computed<T>;
  const int64_t inner = view.inner;
  const auto n = static_cast<int64_t>(rows.size());
  if (inner == 0 || view.outer == 0 || view.extent == 0) return;
  const int64_t work = inner * (1 + n / view.extent);
  const auto body = [&](int64_t begin, int64_t end) {
    std::vector<Sum> wide;
    Sum* sums = nullptr;
    if constexpr (std::is_same_v<T, Sum>) {
      sums = y + begin * inner;
      std::fill_n(sums, (end - begin) * inner, Sum{});
    } else {
      wide.resize(static_cast<size_t>((end - begin) * inner));
      sums = wide.data();
    }
    for (int64_t o = begin / view.extent; o * view.extent < end; ++o) {
      const int64_t low = std::max(begin - o * view.extent, int64_t{0});
      const int64_t high = std::min(end - o * view.extent, view.extent);
      for (int64_t k = 0; k < n; ++k) {
        const int64_t row = rows[static_cast<size_t>(k)];
        if (row < low || row >= high) continue;
        Sum* to = sums + (o * view.extent + row - begin) * inner;
        const T* from = x + (o * n + k) * inner;
        for (int64_t i = 0; i < inner; ++i) to[i] = plus(to[i], load(from[i]));
      }
    }
    for (size_t i = 0; i < wide.size(); ++i)
      y[static_cast<size_t>(begin * inner) + i] = store<T>(wide[i]);
  };
  parallel_for(view.outer * view.extent, std::max<int64_t>(1, (1 << 14) / work),
               body);
}

}  // namespace rondo::array
