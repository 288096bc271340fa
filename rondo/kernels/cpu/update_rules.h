// The arithmetic of the optimizers, vectorised: a range of a variable, its
// gradient and its slots in one pass over memory.
#pragma once

#include <cstddef>

#include "rondo/tensor/dtype.h"

namespace rondo {

enum class UpdateRule {
  kGradientDescent,
  kMomentum,
  kNesterov,
  kAdagrad,
  kRmsProp,
  kCenteredRmsProp,
  kAdam,  // AdamW too
};

inline constexpr size_t kMostSlots = 3;

// What the rules compute with, of each those that it has.
struct UpdateRates {
  double learning_rate = 0;
  double momentum = 0;
  double rho = 0;
  double epsilon = 0;
  double beta1 = 0;
  double beta2 = 0;
  double keep = 1;  // AdamW: what of the parameter is left by weight decay
};

// f32 or f64 throughout.
struct UpdateRange {
  void* parameter = nullptr;
  const void* gradient = nullptr;
  void* slots[kMostSlots] = {};
  size_t count = 0;
};

void update_range(UpdateRule rule, DType dtype, const UpdateRates& rates,
                  const UpdateRange& range);

}  // namespace rondo
