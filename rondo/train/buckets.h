// Buckets: which gradients travel together, and in which order.
#pragma once

#include <vector>

#include "rondo/base/env.h"
#include "rondo/graph/optimizers.h"

namespace rondo {

struct BucketOptions {
  // The first one is small, so that communication begins early; the others are
  // so large that latency is paid seldom, and so small that little is left to
  // send when the backward pass ends. 0: by the number of ranks.
  double first_bytes = 1 << 20;
  double bytes = 0;
  // Whether the first steps of a training try buckets of different sizes, from
  // a quarter of `bytes` to 16 times as much, and the others have the quickest.
  // Sums over more than two ranks then differ by rounding between trainings.
  bool tune = false;
  bool operator==(const BucketOptions&) const = default;
};

// What RONDO_TUNE_BUCKETS says of BucketOptions::tune.
RONDO_API Result<bool> tunes_buckets(const Env& env);

// The bytes of all but the first bucket; the usual ones where they are tuned.
RONDO_API double bucket_bytes(const BucketOptions& options, int ranks);

// Numbers of the gradients that are not empty, in the order in which they
// become ready.
//
// gradients() makes its nodes from the loss backwards, so a gradient whose node
// is older is ready earlier; it is the same on every rank.
RONDO_API std::vector<size_t> in_order_of_readiness(
    const std::vector<GradientAndVariable>& gradients);

// The same, cut into buckets. A bucket has gradients of one type, at least one,
// and more while they fit. A sparse gradient is alone. Where sizes are tuned,
// these are the units that buckets are made of while training.
RONDO_API std::vector<std::vector<size_t>> plan_buckets(
    const std::vector<GradientAndVariable>& gradients,
    const BucketOptions& options, int ranks);

}  // namespace rondo
