#include "rondo/kernels/cpu/histogram.h"

#include <algorithm>
#include <limits>

namespace rondo {
namespace {

// Upper limits, ascending; the last is above every number.
const std::vector<double>& limits() {
  static const std::vector<double> all = [] {
    std::vector<double> positive = {1e-12};
    while (positive.back() * 1.1 < 1e20)
      positive.push_back(positive.back() * 1.1);
    std::vector<double> made;
    for (auto at = positive.rbegin(); at != positive.rend(); ++at)
      made.push_back(-*at);
    made.push_back(0);
    made.insert(made.end(), positive.begin(), positive.end());
    made.push_back(std::numeric_limits<double>::max());
    return made;
  }();
  return all;
}

}  // namespace

Histogram::Histogram() : counts_(limits().size()) {}

void Histogram::add(double x) {
  // The largest number of all has no limit above it.
  const auto at = std::min<size_t>(
      static_cast<size_t>(std::ranges::upper_bound(limits(), x) -
                          limits().begin()),
      counts_.size() - 1);
  ++counts_[at];
  min_ = count_ == 0 ? x : std::min(min_, x);
  max_ = count_ == 0 ? x : std::max(max_, x);
  ++count_;
  sum_ += x;
  sum_squares_ += x * x;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> all;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const double limit = limits()[i];
    if (counts_[i] == 0 && !all.empty() && all.back().count == 0)
      all.back().limit = limit;
    else
      all.push_back({limit, counts_[i]});
  }
  return all;
}

}  // namespace rondo
