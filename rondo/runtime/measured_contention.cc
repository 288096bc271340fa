#include "rondo/runtime/measured_contention.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace rondo {
namespace {

constexpr size_t kMost = 9;

}  // namespace

void MeasuredContention::add(std::vector<double> measured) {
  last_.push_back(std::move(measured));
  if (last_.size() > kMost) last_.pop_front();
  middle_.clear();
  for (;;) {
    const size_t nodes = middle_.size();
    std::vector<double> slower;
    for (const std::vector<double>& one : last_)
      if (nodes < one.size()) slower.push_back(one[nodes]);
    if (slower.empty()) return;
    const auto at =
        slower.begin() + static_cast<std::ptrdiff_t>(slower.size() / 2);
    std::ranges::nth_element(slower, at);
    // Who is joined by one more is not the faster for it.
    middle_.push_back(middle_.empty() ? *at : std::max(*at, middle_.back()));
  }
}

}  // namespace rondo
