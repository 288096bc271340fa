// The median of measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace rondo {

// The upper one of the two in the middle; 0 of none.
inline double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle =
      numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

}  // namespace rondo
