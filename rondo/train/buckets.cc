#include "rondo/train/buckets.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rondo {
namespace {

struct Open {
  std::vector<size_t> members;
  double bytes = 0;
};

}  // namespace

// A ring cuts a bucket into one part for each rank, and passes each on from
// rank to rank: parts of 1 MiB take several times longer than a message's
// latency, even at 10 Gbit/s.
double usual_bucket_bytes(int ranks) {
  constexpr double kMiB = 1 << 20;
  return kMiB * std::clamp(ranks, 4, 25);
}

std::vector<size_t> in_order_of_readiness(
    const std::vector<GradientAndVariable>& gradients) {
  std::vector<size_t> order;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].gradient) order.push_back(i);
  std::ranges::sort(order, {}, [&](size_t i) {
    return std::pair(gradients[i].gradient.values.node->id(), i);
  });
  return order;
}

std::vector<std::vector<size_t>> plan_buckets(
    const std::vector<GradientAndVariable>& gradients,
    const BucketOptions& options, int ranks) {
  const double later =
      options.bytes > 0 ? options.bytes : usual_bucket_bytes(ranks);
  std::vector<std::vector<size_t>> buckets;
  std::map<DType, Open> open;
  const auto close = [&](Open& bucket) {
    if (!bucket.members.empty()) buckets.push_back(std::move(bucket.members));
    bucket = {};
  };
  for (const size_t i : in_order_of_readiness(gradients)) {
    const auto& [gradient, variable] = gradients[i];
    if (gradient.sparse()) {
      buckets.push_back({i});
      continue;
    }
    // The variable's shape is known where the gradient's may not be.
    const double bytes = bytes_of({gradient.values.dtype(), variable.shape()});
    Open& bucket = open[gradient.values.dtype()];
    const double room = buckets.empty() ? options.first_bytes : later;
    if (bucket.bytes + bytes > room) close(bucket);
    bucket.members.push_back(i);
    bucket.bytes += bytes;
  }
  for (auto& [dtype, bucket] : open) close(bucket);
  return buckets;
}

}  // namespace rondo
