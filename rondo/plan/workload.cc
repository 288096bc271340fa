#include "rondo/plan/workload.h"

#include <algorithm>
#include <cmath>

namespace rondo {
namespace {

// As the ring strategy cuts gradients of small tensors.
constexpr double kFirstBucket = 1 << 20;
constexpr double kBucket = 25 << 20;
constexpr double kForward = 1.0 / 3;

}  // namespace

Workload uniform_workload(double parameters) {
  Workload workload;
  workload.name = "a model of that size";
  workload.parameters = parameters;
  const double total = workload.bytes();
  for (double left = total; left > 0;) {
    const double room = left == total ? kFirstBucket : kBucket;
    const double bytes = std::min(left, room);
    left = bytes < left ? left - bytes : 0;
    workload.buckets.push_back(
        {.bytes = bytes,
         .ready = kForward + (1 - kForward) * (1 - left / total)});
  }
  workload.keys = workload.buckets;
  return workload;
}

}  // namespace rondo
