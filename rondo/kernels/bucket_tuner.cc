#include "rondo/kernels/bucket_tuner.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo {
namespace {

int64_t number_of(const ExchangeBuckets& buckets) {
  return std::ranges::count_if(
      buckets, [](const auto& one) { return one.first == one.second; });
}

}  // namespace

BucketTuner::BucketTuner(const std::vector<ExchangeUnit>& units,
                         int64_t usual_limit) {
  for (const int64_t limit :
       {usual_limit, usual_limit / 4, usual_limit * 4, usual_limit * 16}) {
    ExchangeBuckets buckets = buckets_of(units, limit);
    if (std::ranges::count(buckets_, buckets) > 0) continue;
    choice_.sizes.push_back({.limit = limit, .buckets = number_of(buckets)});
    buckets_.push_back(std::move(buckets));
  }
  times_.resize(buckets_.size());
  choice_.settled = buckets_.size() == 1;
}

BucketTuner::Step BucketTuner::next() const {
  if (choice_.settled) return {.buckets = &buckets_[choice_.chosen]};
  const int64_t trial = steps_ - kWarmUp;
  const auto sizes = static_cast<int64_t>(buckets_.size());
  if (trial < 0) return {.buckets = &buckets_[0]};
  if (trial >= sizes * kRounds)
    return {.buckets = &buckets_[0], .settles = true};
  const auto size = static_cast<size_t>(trial % sizes);
  return {.buckets = &buckets_[size], .trial = size};
}

void BucketTuner::record(size_t size, double seconds) {
  times_[size].push_back(seconds);
}

std::vector<double> BucketTuner::measured() const {
  std::vector<double> medians;
  for (std::vector<double> times : times_) {
    if (times.empty()) {
      medians.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const auto middle = times.begin() + static_cast<long>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    medians.push_back(*middle);
  }
  return medians;
}

void BucketTuner::settle(std::span<const double> means) {
  choice_.settled = true;
  for (const double mean : means)
    if (!std::isfinite(mean)) return;
  for (size_t i = 0; i < means.size(); ++i) choice_.sizes[i].seconds = means[i];
  const auto best = std::ranges::min_element(means);
  if (*best < (1 - kLeastGain) * means[0])
    choice_.chosen = static_cast<size_t>(best - means.begin());
}

}  // namespace rondo
