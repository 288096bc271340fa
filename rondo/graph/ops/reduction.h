// Sums, means, maxima and their like over axes.
#pragma once

#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct ReduceOptions {
  Ints axes = {};  // negative ones count from the end; none: all axes
  // Reduced axes stay, with extent 1.
  bool keep_dims = false;
};
RONDO_API Value reduce_sum(Value x, ReduceOptions options = {});
RONDO_API Value reduce_mean(Value x, ReduceOptions options = {});
RONDO_API Value reduce_prod(Value x, ReduceOptions options = {});
RONDO_API Value reduce_max(Value x, ReduceOptions options = {});
RONDO_API Value reduce_min(Value x, ReduceOptions options = {});
RONDO_API Value reduce_all(Value x, ReduceOptions options = {});
RONDO_API Value reduce_any(Value x, ReduceOptions options = {});
// log(sum(exp(x))), without overflow.
RONDO_API Value reduce_logsumexp(Value x, ReduceOptions options = {});
// sum(x * x) / 2, a scalar.
RONDO_API Value l2_loss(Value x);

// The square root of the sum of the squares of all elements of all values.
RONDO_API Value global_norm(const std::vector<Value>& values);
struct Clipped {
  std::vector<Value> values;
  Value norm;  // before clipping
};
// All values scaled down together so that their global norm is at most
// `clip_norm`. `norm`: theirs, where it is at hand.
RONDO_API Clipped clip_by_global_norm(const std::vector<Value>& values,
                                      Value clip_norm, Value norm = {});
RONDO_API Clipped clip_by_global_norm(const std::vector<Value>& values,
                                      double clip_norm);

}  // namespace rondo
