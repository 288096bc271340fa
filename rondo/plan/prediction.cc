#include "rondo/plan/prediction.h"

#include <algorithm>
#include <cmath>

#include "rondo/plan/closed_forms.h"
#include "rondo/plan/exchange_cost.h"
#include "rondo/plan/recommendation.h"
#include "rondo/plan/sweeps.h"

namespace rondo {
namespace {

constexpr double kEfficiencies[] = {0.5, 0.75, 0.9, 0.95};

// Behind each method those that are made of it: with factors, which only the
// ring has, and with less precision.
std::vector<Method> all_methods(const Network& network,
                                const Workload& workload) {
  if (network.workers == 1) return {{.kind = MethodKind::kRing}};
  std::vector<Method> methods;
  for (Method method : methods_for(network)) {
    methods.push_back(method);
    const bool ring = method.kind == MethodKind::kRing;
    if (!ring && method.kind != MethodKind::kHierarchical) continue;
    method.bf16 = true;
    methods.push_back(method);
    if (!ring || !workload.with_factors) continue;
    method.factors = true;
    for (const bool bf16 : {false, true}) {
      method.bf16 = bf16;
      methods.push_back(method);
    }
  }
  return methods;
}

std::vector<RateNeeded> rates_needed(const Method& method,
                                     const Network& network,
                                     const Workload& workload,
                                     const PredictOptions& options) {
  std::vector<RateNeeded> rates;
  for (const double efficiency : kEfficiencies)
    rates.push_back(
        {efficiency,
         ring_rate_for(efficiency, workload.bytes_of_ring(network.workers),
                       network.workers, workload.step_seconds),
         rate_for(efficiency, method, network, workload, options.step)});
  return rates;
}

}  // namespace

Result<MethodPrediction> predict_method(const Method& method,
                                        const Network& network,
                                        const Workload& workload,
                                        const PredictOptions& options) {
  MethodPrediction made{.method = method};
  const ExchangeCosts costs(method, network);
  const auto exchanges = exchanges_by(method, network, workload);
  for (const PlannedExchange& exchange : exchanges)
    made.worker_bytes += costs.of(exchange).worker_bytes;
  made.closed_transfer = costs.at_once(exchanges);
  made.closed_efficiency =
      efficiency_of(made.closed_transfer, workload.step_seconds);
  RONDO_ASSIGN_OR_RETURN(
      made.step, simulate_step(method, network, workload, options.step));
  // No step of so many blocks was measured.
  if (made.step.by_messages) made.band = error_band(method, network);
  made.efficiency = workload.step_seconds / made.step.step;
  made.examples_per_s = network.workers * workload.batch / made.step.step;
  if (options.epoch_examples > 0 && made.examples_per_s > 0) {
    made.epoch_seconds = options.epoch_examples / made.examples_per_s;
    made.epoch_price = options.price_per_hour * made.epoch_seconds / 3600 *
                       (network.hosts + method.spare_machines());
  }
  return made;
}

Result<Prediction> predict(const Network& network, const Workload& workload,
                           const PredictOptions& options) {
  RONDO_RETURN_IF_ERROR(network.check());
  if (!(workload.step_seconds > 0))
    return error(Code::kInvalidArgument,
                 "a step of one worker has to take more than zero seconds");
  Prediction prediction;
  for (const Method& method : all_methods(network, workload)) {
    RONDO_ASSIGN_OR_RETURN(prediction.methods.emplace_back(),
                           predict_method(method, network, workload, options));
  }
  const Recommendation chosen =
      recommend(prediction.methods, network, workload);
  prediction.recommended = chosen.index;
  prediction.reason = chosen.reason;
  // No link joins the workers of one host.
  if (network.hosts == 1) return prediction;
  for (const bool beside : {false, true}) {
    RONDO_ASSIGN_OR_RETURN(
        (beside ? prediction.best_beside : prediction.best_servers),
        best_servers(prediction.methods, network, workload, options.step,
                     beside));
  }
  const Method best = prediction.methods[chosen.index].method;
  prediction.rates = rates_needed(best, network, workload, options);
  prediction.workers = sweep_workers(network, workload, options.step, best);
  prediction.rate = sweep_rate(network, workload, options.step, best);
  return prediction;
}

}  // namespace rondo
