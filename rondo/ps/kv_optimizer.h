// KvOptimizer: what a parameter server does with a gradient.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/kernels/cpu/update_rules.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// The optimizers of graph/optimizers.h, computed by the same loops.
struct KvOptimizer {
  UpdateRule rule = UpdateRule::kGradientDescent;
  double learning_rate = 0.01;
  double momentum = 0;
  double rho = 0;
  double epsilon = 0;
  double beta1 = 0;
  double beta2 = 0;
  double weight_decay = 0;
  double initial_accumulator = 0;

  static KvOptimizer gradient_descent(double learning_rate);
  static KvOptimizer with_momentum(double learning_rate, double momentum,
                                   bool nesterov = false);
  static KvOptimizer adagrad(double learning_rate, double initial = 0.1);
  static KvOptimizer rms_prop(double learning_rate, double rho = 0.9,
                              double momentum = 0, bool centered = false);
  static KvOptimizer adam(double learning_rate, double beta1 = 0.9,
                          double beta2 = 0.999, double epsilon = 1e-8);
  static KvOptimizer adam_w(double learning_rate, double weight_decay = 0.01);

  size_t slots() const;
  // What every element of a slot is at first.
  double initial(size_t slot) const;
  // What tells it from another, for the check that a log was written by the
  // same.
  std::string to_string() const;
  // All of it as numbers, for messages and attributes of nodes, and back.
  std::vector<double> numbers() const;
  static Result<KvOptimizer> from_numbers(std::span<const double> numbers);
  bool operator==(const KvOptimizer&) const = default;
};

// What Adam counts steps by: as the graph does, in f32.
struct BetaPowers {
  float beta1 = 0;
  float beta2 = 0;
};

// The rates of one update of a parameter of this type. `learning_rate` instead
// of the optimizer's own.
UpdateRates rates_for(const KvOptimizer& optimizer, DType dtype,
                      double learning_rate, const BetaPowers& powers);

// A parameter, or a part of one, and what the optimizer keeps for it.
struct KvState {
  Tensor value;
  std::vector<Tensor> slots;
  BetaPowers powers;
};
KvState initial_state(const KvOptimizer& optimizer, Tensor value);

// Changes `state` by a gradient of all of its elements. Tensors that somebody
// else holds are not changed but replaced.
void update_all(const KvOptimizer& optimizer, double learning_rate,
                const Tensor& gradient, KvState& state);
// By gradients of the rows `indices` (i64, each once, in range).
void update_rows(const KvOptimizer& optimizer, double learning_rate,
                 const Tensor& indices, const Tensor& rows, KvState& state);

}  // namespace rondo
