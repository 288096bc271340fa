// Kernels of pooling, and the loops over channels that they are made of.
#pragma once

#include <cstdint>

#include "rondo/kernels/kernel_registry.h"

namespace rondo {

void register_pool_kernels(KernelRegistry& kernels);

// For each of `count` channels: where x is more than best, or is NaN, it
// becomes the best and `k` its place.
void max_channels(const float* x, int64_t count, int32_t k, float* best,
                  int32_t* where);
// sum += x * scale
void add_channels(const float* x, int64_t count, float scale, float* sum);

}  // namespace rondo
