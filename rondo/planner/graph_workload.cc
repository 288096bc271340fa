#include "rondo/planner/graph_workload.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "rondo/graph/placement/cost_model.h"
#include "rondo/planner/step_clock.h"
#include "rondo/ps/shards.h"
#include "rondo/train/exchange_plan.h"

namespace rondo {
namespace {

double bytes_of_variable(const GradientAndVariable& one) {
  return bytes_of({one.variable.dtype(), one.variable.shape()});
}

// What the strategy exchanges, as the planner counts it.
class ExchangeReader {
 public:
  ExchangeReader(const TrainingStep& step, double batch, const NodeTimes& times)
      : step_(step), costs_({.unknown_extent = batch}), clock_(step, times) {}

  std::vector<PlannedExchange> read(const GradientExchange& how) const {
    const ExchangePlan plan = plan_exchange(step_.gradients, how);
    std::vector<PlannedExchange> exchanges;
    for (const ExchangePlan::Item& item : plan.items)
      exchanges.push_back(item.factor.node ? factor(item.factor, plan, how)
                                           : bucket(item.bucket));
    return exchanges;
  }

  // Each gradient by itself.
  std::vector<PlannedExchange> keys(int servers) const {
    std::vector<PlannedExchange> exchanges;
    std::vector<Key> keys;
    for (const size_t i : in_order_of_readiness(step_.gradients)) {
      exchanges.push_back(bucket({i}));
      if (step_.gradients[i].gradient.sparse()) widen(exchanges.back());
      const Value& variable = step_.gradients[i].variable;
      keys.push_back({.name = {},
                      .dtype = variable.dtype(),
                      .shape = variable.shape().to_shape(),
                      .by_rows = step_.gradients[i].gradient.sparse()});
    }
    const auto parts = split_keys(keys, {.servers = servers});
    for (size_t k = 0; k < keys.size(); ++k) {
      exchanges[k].by_server.resize(static_cast<size_t>(servers));
      for (const KeyPart& part : parts[k])
        exchanges[k].by_server[static_cast<size_t>(part.server)] +=
            static_cast<double>(part.count());
    }
    return exchanges;
  }

 private:
  PlannedExchange bucket(const std::vector<size_t>& members) const {
    PlannedExchange exchange;
    for (const size_t i : members) {
      const Gradient& gradient = step_.gradients[i].gradient;
      if (gradient.sparse())
        add_rows(step_.gradients[i], exchange);
      else
        exchange.bytes += bytes_of_variable(step_.gradients[i]);
      exchange.ready =
          std::max(exchange.ready, clock_.share(*gradient.values.node));
      exchange.update += clock_.update_share(step_.gradients[i].variable);
    }
    return exchange;
  }

  // To servers, numbers of 64 bits say where rows are.
  static void widen(PlannedExchange& exchange) {
    constexpr double kWide = 8;
    exchange.bytes += exchange.rows * (kWide - exchange.index_bytes);
    exchange.index_bytes = kWide;
  }

  // Strategies exchange rows of one variable together, and nothing else.
  void add_rows(const GradientAndVariable& one,
                PlannedExchange& exchange) const {
    const Value& indices = one.gradient.indices;
    exchange.gather = true;
    exchange.index_bytes = static_cast<double>(size_of(indices.dtype()));
    exchange.rows = costs_.bytes(indices) / exchange.index_bytes;
    exchange.table_rows = static_cast<double>(one.variable.shape()[0]);
    exchange.bytes = costs_.bytes(one.gradient.values) + costs_.bytes(indices);
  }

  PlannedExchange factor(const Value& value, const ExchangePlan& plan,
                         const GradientExchange& how) const {
    PlannedExchange exchange{.bytes = costs_.bytes(value),
                             .ready = clock_.share(*value.node),
                             .gather = true};
    // Those of the forward pass wait for the backward pass.
    if (plan.begin)
      exchange.ready = std::max(exchange.ready, clock_.share(*plan.begin));
    for (size_t i = 0; i < step_.gradients.size(); ++i) {
      const auto& factors = plan.factors[i];
      if (!factors || factors->right.node != value.node) continue;
      exchange.flops += 2 *
                        static_cast<double>(rows_of(*factors, how.factors)) *
                        bytes_of_variable(step_.gradients[i]) / 4;
      exchange.update += clock_.update_share(step_.gradients[i].variable);
    }
    return exchange;
  }

  const TrainingStep step_;
  const CostModel costs_;  // for tensors whose extents may be unknown
  const StepClock clock_;
};

std::optional<Factors> factors_of(const GradientAndVariable& one) {
  if (!one.gradient || one.gradient.sparse()) return std::nullopt;
  return factors_of(one.gradient.values);
}

}  // namespace

std::vector<bool> open_factors(const TrainingStep& step) {
  std::vector<bool> open;
  for (const GradientAndVariable& one : step.gradients) {
    const auto factors = factors_of(one);
    open.push_back(factors && rows_of(*factors, {}) == kAny);
  }
  return open;
}

Workload workload_of(const TrainingStep& step, double batch,
                     const NodeTimes& times, const std::vector<bool>& open) {
  const auto reader = std::make_shared<ExchangeReader>(step, batch, times);
  Workload workload;
  workload.batch = batch;
  workload.step_seconds = total_seconds(times);
  for (const GradientAndVariable& one : step.gradients)
    if (one.gradient) workload.parameters += bytes_of_variable(one) / 4;
  workload.buckets_for = [reader](int workers) {
    return reader->read({.group = "plan",
                         .size = workers,
                         .factors = {.use = FactorUse::kOff}});
  };
  workload.buckets = workload.buckets_for(2);
  workload.keys_for = [reader](int servers) { return reader->keys(servers); };
  workload.keys = workload.keys_for(1);
  const auto rows = static_cast<int64_t>(batch);
  bool any = false;
  int64_t most = 0;
  for (size_t i = 0; i < step.gradients.size(); ++i) {
    const auto factors = factors_of(step.gradients[i]);
    any = any || factors.has_value();
    if (factors && !open.empty() && open[i])
      most = std::max(most, rows_of(*factors, {.rows = rows}));
  }
  if (!any) return workload;
  std::vector<int64_t> least_rows;
  for (const bool is_open : open) least_rows.push_back(is_open ? most : 0);
  workload.factor_rows = static_cast<double>(most);
  workload.with_factors = [=](int workers, const FactorTerms& terms) {
    return reader->read(
        {.group = "plan",
         .size = workers,
         .wire = terms.bf16 ? DType::kBF16 : DType::kF32,
         .factors = {.rows = rows,
                     .link_rate = terms.link > 0 ? terms.link : kMemoryRate,
                     .flop_rate = terms.flop_rate},
         .least_rows = least_rows});
  };
  return workload;
}

}  // namespace rondo
