// Optimizers, each update of a variable as one operation.
//
// An update takes the gradient, changes the variable and the optimizer's slots
// of it (variables of the same type and shape, by name in the attribute
// "slots"), and gives the new value. Rates are scalars of any floating-point
// type, so that they can be fed or computed. The gradient may be sparse: then
// rows of equal index add up first, and only the rows that it has, of the
// variable and of the slots, change. rondo/graph/optimizers.h makes slots and
// updates for all variables of a model.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

// variable -= learning_rate * gradient.
RONDO_API Value apply_gradient_descent(Value variable, const Gradient& gradient,
                                       Value learning_rate);

struct MomentumRates {
  Value learning_rate;
  Value momentum;
};
// velocity = momentum * velocity + gradient; variable -= learning_rate *
// velocity, or with `nesterov` learning_rate * (gradient + momentum *
// velocity).
RONDO_API Value apply_momentum(Value variable, Value velocity,
                               const Gradient& gradient,
                               const MomentumRates& rates,
                               bool nesterov = false);

struct AdagradRates {
  Value learning_rate;
  Value epsilon;
};
// accumulator += gradient^2; variable -= learning_rate * gradient /
// (sqrt(accumulator) + epsilon).
RONDO_API Value apply_adagrad(Value variable, Value accumulator,
                              const Gradient& gradient,
                              const AdagradRates& rates);

struct RmsPropRates {
  Value learning_rate;
  Value rho;
  Value momentum;
  Value epsilon;
};
// square = rho * square + (1 - rho) * gradient^2; velocity = momentum *
// velocity + learning_rate * gradient / sqrt(square + epsilon); variable -=
// velocity. With a `mean`, mean = rho * mean + (1 - rho) * gradient and square
// - mean^2 takes the place of square.
RONDO_API Value apply_rms_prop(Value variable, Value square, Value velocity,
                               const Gradient& gradient,
                               const RmsPropRates& rates, Value mean = {});

struct AdamRates {
  Value learning_rate;
  Value beta1;
  Value beta2;
  Value epsilon;
  // beta1 and beta2 to the power of the number of this step, from 1.
  Value beta1_power;
  Value beta2_power;
};
// m = beta1 * m + (1 - beta1) * gradient; v = beta2 * v + (1 - beta2) *
// gradient^2; variable -= learning_rate * sqrt(1 - beta2_power) / (1 -
// beta1_power) * m / (sqrt(v) + epsilon).
RONDO_API Value apply_adam(Value variable, Value m, Value v,
                           const Gradient& gradient, const AdamRates& rates);
// The same, and before that variable *= 1 - learning_rate * weight_decay.
RONDO_API Value apply_adam_w(Value variable, Value m, Value v,
                             const Gradient& gradient, const AdamRates& rates,
                             Value weight_decay);

}  // namespace rondo
