#include "rondo/ps/kv_optimizer.h"

#include <cmath>

#include "rondo/kernels/cpu/update_elements.h"

namespace rondo {
namespace {

// A rate as the graph has it: a number of the parameter's type.
double rounded(DType dtype, double rate) {
  return dispatch_float(dtype, [&]<class T>() {
    return static_cast<double>(load(store<T>(static_cast<Computed<T>>(rate))));
  });
}

Tensor& own(Tensor& tensor) {
  if (!tensor.unique()) tensor = tensor.clone();
  return tensor;
}

UpdateTarget target_of(KvState& state) {
  UpdateTarget at;
  at.parameter = &own(state.value);
  at.slot_count = state.slots.size();
  for (size_t k = 0; k < at.slot_count; ++k) at.slots[k] = &own(state.slots[k]);
  return at;
}

void count_step(const KvOptimizer& optimizer, BetaPowers& powers) {
  powers.beta1 *= static_cast<float>(optimizer.beta1);
  powers.beta2 *= static_cast<float>(optimizer.beta2);
}

}  // namespace

KvOptimizer KvOptimizer::gradient_descent(double learning_rate) {
  return {.rule = UpdateRule::kGradientDescent, .learning_rate = learning_rate};
}

KvOptimizer KvOptimizer::with_momentum(double learning_rate, double momentum,
                                       bool nesterov) {
  return {.rule = nesterov ? UpdateRule::kNesterov : UpdateRule::kMomentum,
          .learning_rate = learning_rate,
          .momentum = momentum};
}

KvOptimizer KvOptimizer::adagrad(double learning_rate, double initial) {
  return {.rule = UpdateRule::kAdagrad,
          .learning_rate = learning_rate,
          .initial_accumulator = initial};
}

KvOptimizer KvOptimizer::rms_prop(double learning_rate, double rho,
                                  double momentum, bool centered) {
  return {
      .rule = centered ? UpdateRule::kCenteredRmsProp : UpdateRule::kRmsProp,
      .learning_rate = learning_rate,
      .momentum = momentum,
      .rho = rho,
      .epsilon = 1e-10};
}

KvOptimizer KvOptimizer::adam(double learning_rate, double beta1, double beta2,
                              double epsilon) {
  return {.rule = UpdateRule::kAdam,
          .learning_rate = learning_rate,
          .epsilon = epsilon,
          .beta1 = beta1,
          .beta2 = beta2};
}

KvOptimizer KvOptimizer::adam_w(double learning_rate, double weight_decay) {
  KvOptimizer made = adam(learning_rate);
  made.weight_decay = weight_decay;
  return made;
}

size_t KvOptimizer::slots() const {
  switch (rule) {
    case UpdateRule::kGradientDescent: return 0;
    case UpdateRule::kMomentum:
    case UpdateRule::kNesterov:
    case UpdateRule::kAdagrad: return 1;
    case UpdateRule::kRmsProp:
    case UpdateRule::kAdam: return 2;
    case UpdateRule::kCenteredRmsProp: return 3;
  }
  return 0;
}

double KvOptimizer::initial(size_t slot) const {
  if (rule == UpdateRule::kAdagrad) return initial_accumulator;
  const bool squares =
      rule == UpdateRule::kRmsProp || rule == UpdateRule::kCenteredRmsProp;
  return squares && slot == 0 ? 1 : 0;
}

std::string KvOptimizer::to_string() const {
  return fmt::format(
      "rule {} learning_rate {} momentum {} rho {} epsilon {} beta1 {} beta2 "
      "{} "
      "weight_decay {} initial_accumulator {}",
      static_cast<int>(rule), learning_rate, momentum, rho, epsilon, beta1,
      beta2, weight_decay, initial_accumulator);
}

std::vector<double> KvOptimizer::numbers() const {
  return {static_cast<double>(rule),
          learning_rate,
          momentum,
          rho,
          epsilon,
          beta1,
          beta2,
          weight_decay,
          initial_accumulator};
}

Result<KvOptimizer> KvOptimizer::from_numbers(std::span<const double> numbers) {
  constexpr size_t kCount = 9;
  constexpr auto kLast = static_cast<double>(UpdateRule::kAdam);
  if (numbers.size() != kCount || !(numbers[0] >= 0 && numbers[0] <= kLast))
    return error(Code::kInvalidArgument,
                 "these numbers are no optimizer of parameter servers");
  return KvOptimizer{
      .rule = static_cast<UpdateRule>(static_cast<int>(numbers[0])),
      .learning_rate = numbers[1],
      .momentum = numbers[2],
      .rho = numbers[3],
      .epsilon = numbers[4],
      .beta1 = numbers[5],
      .beta2 = numbers[6],
      .weight_decay = numbers[7],
      .initial_accumulator = numbers[8]};
}

UpdateRates rates_for(const KvOptimizer& optimizer, DType dtype,
                      double learning_rate, const BetaPowers& powers) {
  UpdateRates rates;
  rates.learning_rate = rounded(dtype, learning_rate);
  rates.momentum = rounded(dtype, optimizer.momentum);
  rates.rho = rounded(dtype, optimizer.rho);
  rates.epsilon = rounded(dtype, optimizer.epsilon);
  rates.beta1 = rounded(dtype, optimizer.beta1);
  rates.beta2 = rounded(dtype, optimizer.beta2);
  if (optimizer.rule != UpdateRule::kAdam) return rates;
  if (optimizer.weight_decay != 0)
    rates.keep =
        1 - rates.learning_rate * rounded(dtype, optimizer.weight_decay);
  rates.learning_rate *= std::sqrt(1 - static_cast<double>(powers.beta2)) /
                         (1 - static_cast<double>(powers.beta1));
  return rates;
}

KvState initial_state(const KvOptimizer& optimizer, Tensor value) {
  KvState state;
  for (size_t k = 0; k < optimizer.slots(); ++k) {
    Tensor slot = Tensor::zeros(value.shape(), value.dtype());
    if (const double first = optimizer.initial(k); first != 0)
      dispatch_float(value.dtype(), [&]<class T>() {
        for (T& x : slot.span<T>())
          x = store<T>(static_cast<Computed<T>>(first));
      });
    state.slots.push_back(std::move(slot));
  }
  state.value = std::move(value);
  state.powers = {static_cast<float>(optimizer.beta1),
                  static_cast<float>(optimizer.beta2)};
  return state;
}

void update_all(const KvOptimizer& optimizer, double learning_rate,
                const Tensor& gradient, KvState& state) {
  const UpdateRates rates =
      rates_for(optimizer, gradient.dtype(), learning_rate, state.powers);
  const UpdateTarget at = target_of(state);
  dispatch_float(gradient.dtype(), [&]<class T>() {
    update_elements<T>(optimizer.rule, rates, at, 0, gradient.span<T>().data(),
                       gradient.count());
  });
  count_step(optimizer, state.powers);
}

void update_rows(const KvOptimizer& optimizer, double learning_rate,
                 const Tensor& indices, const Tensor& rows, KvState& state) {
  const UpdateRates rates =
      rates_for(optimizer, rows.dtype(), learning_rate, state.powers);
  const int64_t count = indices.count();
  const int64_t width = count == 0 ? 0 : rows.count() / count;
  const UpdateTarget at = target_of(state);
  dispatch_float(rows.dtype(), [&]<class T>() {
    for (int64_t k = 0; k < count; ++k)
      update_elements<T>(
          optimizer.rule, rates, at,
          indices.span<int64_t>()[static_cast<size_t>(k)] * width,
          rows.span<T>().data() + k * width, width);
  });
  count_step(optimizer, state.powers);
}

}  // namespace rondo
