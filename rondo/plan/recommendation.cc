#include "rondo/plan/recommendation.h"

#include <algorithm>

#include "rondo/base/units.h"
#include "rondo/plan/exchange_cost.h"
#include "rondo/plan/reason.h"

namespace rondo {
namespace {

// Whether it may take longer than is said.
bool is_bound(const MethodPrediction& one, const Network& network) {
  return !one.step.by_messages && is_lower_bound(one.method, network);
}

// The candidate to take.
size_t choose(std::span<const MethodPrediction> methods,
              const Network& network) {
  const auto is_candidate = [&](const MethodPrediction& one) {
    return one.method.spare_machines() == 0 && !one.method.bf16 &&
           !is_bound(one, network);
  };
  double least = 0;
  for (const MethodPrediction& one : methods)
    if (is_candidate(one) && (least == 0 || one.step.step < least))
      least = one.step.step;
  const auto good = [&](const MethodPrediction& one) {
    return is_candidate(one) && one.step.step <= 1.01 * least;
  };
  for (const MethodKind kind : {MethodKind::kDirect, MethodKind::kRing})
    for (size_t i = 0; i < methods.size(); ++i)
      if (methods[i].method == Method{.kind = kind} && good(methods[i]))
        return i;
  return static_cast<size_t>(std::ranges::find_if(methods, good) -
                             methods.begin());
}

// What the fastest of those that `allowed` lets through would gain.
template <class Allowed>
std::string gain(std::span<const MethodPrediction> methods,
                 const MethodPrediction& chosen, const Network& network,
                 const Allowed& allowed, std::string_view sentence) {
  const MethodPrediction* best = nullptr;
  for (const MethodPrediction& one : methods)
    if (allowed(one.method) &&
        (best == nullptr || one.step.step < 0.99 * best->step.step))
      best = &one;
  if (best == nullptr || best->step.step > 0.95 * chosen.step.step) return {};
  return fmt::format(fmt::runtime(sentence), best->method.name(),
                     seconds_text(best->step.step)) +
         (is_bound(*best, network) ? ", or more" : "");
}

std::string wait_text(const StepTimes& times) {
  if (times.waiting <= 0) return {};
  return fmt::format(" and {} are lost by waiting for the slowest worker",
                     seconds_text(times.waiting));
}

}  // namespace

Recommendation recommend(std::span<const MethodPrediction> methods,
                         const Network& network, const Workload& workload) {
  const size_t index = choose(methods, network);
  const MethodPrediction& chosen = methods[index];
  if (network.workers == 1) return {index, "one worker exchanges nothing"};
  std::string reason = fmt::format(
      "{}: {} of {} of communication is exposed{}, so a step takes {} and "
      "{:.1f} "
      "% of the workers' time is computation",
      reason_for(chosen.method, network, workload),
      seconds_text(chosen.step.exposed),
      seconds_text(chosen.step.communication), wait_text(chosen.step),
      seconds_text(chosen.step.step),
      100 * workload.step_seconds / chosen.step.step);
  reason += gain(
      methods, chosen, network, [](const Method& m) { return m.bf16; },
      ". With gradients as bf16 on the wire ({}) a step would take {}");
  reason += gain(
      methods, chosen, network, [](const Method& m) { return m.beside; },
      ". With parameter servers, {} would take {} a step");
  reason += gain(
      methods, chosen, network,
      [](const Method& m) { return m.spare_machines() > 0; },
      ". With spare machines, {} would take {} a step");
  return {index, reason};
}

}  // namespace rondo
