// numbers: random tensors for tests.
#pragma once

#include <random>

#include "rondo/tensor/tensor.h"

namespace rondo {

// Of type f64, within [low, high); the same for the same seed.
inline Tensor numbers(const Shape& shape, unsigned seed, double low = -1,
                      double high = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> any(low, high);
  Tensor t = Tensor::empty(shape, DType::kF64);
  for (double& x : t.span<double>()) x = any(generator);
  return t;
}

}  // namespace rondo
