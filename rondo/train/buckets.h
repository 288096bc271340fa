// Buckets: which gradients travel together, and in which order.
#pragma once

#include <vector>

#include "rondo/graph/optimizers.h"

namespace rondo {

struct BucketOptions {
  // The first one is small, so that communication begins early; the others are
  // so large that latency is paid seldom, and so small that little is left to
  // send when the backward pass ends. 0: by the number of ranks.
  double first_bytes = 1 << 20;
  double bytes = 0;
  bool operator==(const BucketOptions&) const = default;
};

// Bytes of a bucket behind the first, unless options say otherwise.
RONDO_API double usual_bucket_bytes(int ranks);

// Numbers of the gradients that are not empty, in the order in which they
// become ready.
//
// gradients() makes its nodes from the loss backwards, so a gradient whose node
// is older is ready earlier; it is the same on every rank.
RONDO_API std::vector<size_t> in_order_of_readiness(
    const std::vector<GradientAndVariable>& gradients);

// The same, cut into buckets. A bucket has gradients of one type, at least one,
// and more while they fit. A sparse gradient is alone.
RONDO_API std::vector<std::vector<size_t>> plan_buckets(
    const std::vector<GradientAndVariable>& gradients,
    const BucketOptions& options, int ranks);

}  // namespace rondo
