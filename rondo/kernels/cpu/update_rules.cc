#include "rondo/kernels/cpu/update_rules.h"

// Highway compiles this file once per instruction set by including it again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rondo/kernels/cpu/update_rules.cc"
#include <hwy/foreach_target.h>
// Behind foreach_target.h, as Highway wants it.
#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace rondo::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A rule has its constants as vectors, the number of its slots, and
// step(parameter, gradient, slots), which changes the first and the last.
template <class D>
struct RuleBase {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static HWY_INLINE V set(double x) { return hn::Set(D(), static_cast<T>(x)); }
};

template <class D>
struct GradientDescent : RuleBase<D> {
  using typename RuleBase<D>::V;
  static constexpr size_t kSlots = 0;
  explicit GradientDescent(const UpdateRates& r)
      : rate(this->set(r.learning_rate)) {}
  HWY_INLINE void step(V& p, V g, V*) const { p = hn::NegMulAdd(rate, g, p); }
  V rate;
};

template <class D, bool kNesterov>
struct Momentum : RuleBase<D> {
  using typename RuleBase<D>::V;
  static constexpr size_t kSlots = 1;
  explicit Momentum(const UpdateRates& r)
      : rate(this->set(r.learning_rate)), momentum(this->set(r.momentum)) {}
  HWY_INLINE void step(V& p, V g, V* slots) const {
    slots[0] = hn::MulAdd(slots[0], momentum, g);
    const V by = kNesterov ? hn::MulAdd(slots[0], momentum, g) : slots[0];
    p = hn::NegMulAdd(rate, by, p);
  }
  V rate, momentum;
};

template <class D>
struct Adagrad : RuleBase<D> {
  using typename RuleBase<D>::V;
  static constexpr size_t kSlots = 1;
  explicit Adagrad(const UpdateRates& r)
      : rate(this->set(r.learning_rate)), epsilon(this->set(r.epsilon)) {}
  HWY_INLINE void step(V& p, V g, V* slots) const {
    slots[0] = hn::MulAdd(g, g, slots[0]);
    p = hn::Sub(
        p, hn::Div(hn::Mul(rate, g), hn::Add(hn::Sqrt(slots[0]), epsilon)));
  }
  V rate, epsilon;
};

template <class D, bool kCentered>
struct RmsProp : RuleBase<D> {
  using typename RuleBase<D>::V;
  static constexpr size_t kSlots = kCentered ? 3 : 2;
  explicit RmsProp(const UpdateRates& r)
      : rate(this->set(r.learning_rate)),
        momentum(this->set(r.momentum)),
        epsilon(this->set(r.epsilon)),
        fresh(this->set(1 - r.rho)) {}
  HWY_INLINE void step(V& p, V g, V* slots) const {
    slots[0] = hn::MulAdd(hn::Sub(hn::Mul(g, g), slots[0]), fresh, slots[0]);
    V variance = slots[0];
    if constexpr (kCentered) {
      slots[2] = hn::MulAdd(hn::Sub(g, slots[2]), fresh, slots[2]);
      variance = hn::NegMulAdd(slots[2], slots[2], variance);
    }
    const V by =
        hn::Div(hn::Mul(rate, g), hn::Sqrt(hn::Add(variance, epsilon)));
    slots[1] = hn::MulAdd(slots[1], momentum, by);
    p = hn::Sub(p, slots[1]);
  }
  V rate, momentum, epsilon, fresh;
};

template <class D>
struct Adam : RuleBase<D> {
  using typename RuleBase<D>::V;
  static constexpr size_t kSlots = 2;
  explicit Adam(const UpdateRates& r)
      : rate(this->set(r.learning_rate)),
        epsilon(this->set(r.epsilon)),
        fresh1(this->set(1 - r.beta1)),
        fresh2(this->set(1 - r.beta2)),
        keep(this->set(r.keep)) {}
  HWY_INLINE void step(V& p, V g, V* slots) const {
    slots[0] = hn::MulAdd(hn::Sub(g, slots[0]), fresh1, slots[0]);
    slots[1] = hn::MulAdd(hn::Sub(hn::Mul(g, g), slots[1]), fresh2, slots[1]);
    const V by =
        hn::Div(hn::Mul(rate, slots[0]), hn::Add(hn::Sqrt(slots[1]), epsilon));
    p = hn::MulSub(p, keep, by);
  }
  V rate, epsilon, fresh1, fresh2, keep;
};

template <class Rule, class D>
void run(const UpdateRates& rates, const UpdateRange& range) {
  using T = hn::TFromD<D>;
  const D d;
  const Rule rule(rates);
  const size_t n = hn::Lanes(d);
  T* parameter = static_cast<T*>(range.parameter);
  const T* gradient = static_cast<const T*>(range.gradient);
  auto step = [&](T* p, const T* g, T* const* slots, size_t i) HWY_ATTR {
    auto value = hn::LoadU(d, p + i);
    hn::Vec<D> s[kMostSlots];
    for (size_t k = 0; k < Rule::kSlots; ++k) s[k] = hn::LoadU(d, slots[k] + i);
    rule.step(value, hn::LoadU(d, g + i), s);
    hn::StoreU(value, d, p + i);
    for (size_t k = 0; k < Rule::kSlots; ++k) hn::StoreU(s[k], d, slots[k] + i);
  };
  T* slots[kMostSlots] = {};
  for (size_t k = 0; k < Rule::kSlots; ++k)
    slots[k] = static_cast<T*>(range.slots[k]);
  size_t i = 0;
  for (; i + n <= range.count; i += n) step(parameter, gradient, slots, i);
  const size_t rest = (range.count - i) * sizeof(T);
  if (rest == 0) return;
  // The rest as a vector with ones behind it, which no rule minds. The same
  // arithmetic as above, so where a range ends makes no difference.
  constexpr size_t kLanes = HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T last[2 + kMostSlots][kLanes];
  for (auto& row : last)
    for (T& x : row) x = 1;
  T* last_slots[kMostSlots] = {last[2], last[3], last[4]};
  std::memcpy(last[0], parameter + i, rest);
  std::memcpy(last[1], gradient + i, rest);
  for (size_t k = 0; k < Rule::kSlots; ++k)
    std::memcpy(last_slots[k], slots[k] + i, rest);
  step(last[0], last[1], last_slots, 0);
  std::memcpy(parameter + i, last[0], rest);
  for (size_t k = 0; k < Rule::kSlots; ++k)
    std::memcpy(slots[k] + i, last_slots[k], rest);
}

template <class T>
void update(UpdateRule rule, const UpdateRates& rates,
            const UpdateRange& range) {
  using D = hn::ScalableTag<T>;
  switch (rule) {
    case UpdateRule::kGradientDescent:
      return run<GradientDescent<D>, D>(rates, range);
    case UpdateRule::kMomentum: return run<Momentum<D, false>, D>(rates, range);
    case UpdateRule::kNesterov: return run<Momentum<D, true>, D>(rates, range);
    case UpdateRule::kAdagrad: return run<Adagrad<D>, D>(rates, range);
    case UpdateRule::kRmsProp: return run<RmsProp<D, false>, D>(rates, range);
    case UpdateRule::kCenteredRmsProp:
      return run<RmsProp<D, true>, D>(rates, range);
    case UpdateRule::kAdam: return run<Adam<D>, D>(rates, range);
  }
}

void update_any(UpdateRule rule, DType dtype, const UpdateRates& rates,
                const UpdateRange& range) {
  if (dtype == DType::kF64)
    update<double>(rule, rates, range);
  else
    update<float>(rule, rates, range);
}

}  // namespace rondo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo {
namespace {
HWY_EXPORT(update_any);
}  // namespace

void update_range(UpdateRule rule, DType dtype, const UpdateRates& rates,
                  const UpdateRange& range) {
  HWY_DYNAMIC_DISPATCH(update_any)(rule, dtype, rates, range);
}

}  // namespace rondo
#endif
