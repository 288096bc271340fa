#include "rondo/planner/graph_workload.h"

#include <algorithm>
#include <map>
#include <set>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/placement/cost_model.h"
#include "rondo/ps/shards.h"
#include "rondo/train/exchange_plan.h"

namespace rondo {
namespace {

// The nodes that a run of `target` needs, by id.
std::set<int> needed_by(const Node& target) {
  std::set<int> needed;
  std::vector<const Node*> look = {&target};
  while (!look.empty()) {
    const Node* node = look.back();
    look.pop_back();
    if (!needed.insert(node->id()).second) continue;
    for (const Value& input : node->inputs()) look.push_back(input.node);
    for (const Node* before : node->control_inputs()) look.push_back(before);
  }
  return needed;
}

bool is_sparse_update(const Node& node) {
  return node.op().name.starts_with("SparseApply");
}
bool is_update(const Node& node) {
  return is_sparse_update(node) || node.op().name.starts_with("Apply");
}
std::string updated_by(const Node& update) {
  return update.attrs().get<std::string>("variable");
}

// When nodes are done, as shares of a step in which they run one after another
// in the order in which they were made.
class StepClock {
 public:
  StepClock(const TrainingStep& step, double batch, const DeviceRates& rates)
      : costs_({.unknown_extent = batch}) {
    DeviceInfo device;
    device.flops_per_s = rates.flops_per_s;
    device.bytes_per_s = rates.bytes_per_s;
    const std::set<int> needed = needed_by(*step.train);
    for (const auto& node : step.graph->nodes()) {
      if (needed.contains(node->id())) {
        const double seconds = costs_.estimate(*node, device);
        seconds_ += seconds;
        if (is_update(*node)) updates_[updated_by(*node)] += seconds;
      }
      done_.push_back(seconds_);
    }
  }

  double seconds() const { return seconds_; }
  double share(const Node& node) const {
    const auto id = static_cast<size_t>(node.id());
    return seconds_ > 0 && id < done_.size() ? done_[id] / seconds_ : 1;
  }
  // Of what updates a variable.
  double update_share(const Value& variable) const {
    const auto at = updates_.find(variable_name(variable));
    return seconds_ > 0 && at != updates_.end() ? at->second / seconds_ : 0;
  }
  // Of a tensor whose extents may be unknown.
  double bytes(const Value& value) const { return costs_.bytes(value); }

 private:
  const CostModel costs_;
  std::vector<double> done_;               // by node
  std::map<std::string, double> updates_;  // seconds, by variable
  double seconds_ = 0;
};

double bytes_of_variable(const GradientAndVariable& one) {
  return bytes_of({one.variable.dtype(), one.variable.shape()});
}

// What the strategy exchanges, as the planner counts it.
class ExchangeReader {
 public:
  ExchangeReader(const TrainingStep& step, const StepClock& clock)
      : gradients_(step.gradients), clock_(clock) {}

  std::vector<PlannedExchange> read(const GradientExchange& how) const {
    const ExchangePlan plan = plan_exchange(gradients_, how);
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
    for (const size_t i : in_order_of_readiness(gradients_)) {
      exchanges.push_back(bucket({i}));
      const Value& variable = gradients_[i].variable;
      keys.push_back({.name = {},
                      .dtype = variable.dtype(),
                      .shape = variable.shape().to_shape(),
                      .by_rows = gradients_[i].gradient.sparse()});
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
      const Gradient& gradient = gradients_[i].gradient;
      exchange.gather = gradient.sparse();
      exchange.bytes += gradient.sparse() ? clock_.bytes(gradient.values) +
                                                clock_.bytes(gradient.indices)
                                          : bytes_of_variable(gradients_[i]);
      exchange.ready =
          std::max(exchange.ready, clock_.share(*gradient.values.node));
      exchange.update += clock_.update_share(gradients_[i].variable);
    }
    return exchange;
  }

  PlannedExchange factor(const Value& value, const ExchangePlan& plan,
                         const GradientExchange& how) const {
    PlannedExchange exchange{.bytes = clock_.bytes(value),
                             .ready = clock_.share(*value.node),
                             .gather = true};
    // Those of the forward pass wait for the backward pass.
    if (plan.begin)
      exchange.ready = std::max(exchange.ready, clock_.share(*plan.begin));
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const auto& factors = plan.factors[i];
      if (!factors || factors->right.node != value.node) continue;
      exchange.flops += 2 *
                        static_cast<double>(rows_of(*factors, how.factors)) *
                        bytes_of_variable(gradients_[i]) / 4;
      exchange.update += clock_.update_share(gradients_[i].variable);
    }
    return exchange;
  }

  const std::vector<GradientAndVariable>& gradients_;
  const StepClock& clock_;
};

// Kept by the function that the workload has of its factors.
struct Kept {
  Kept(const TrainingStep& training, double batch, const DeviceRates& rates)
      : step(training), clock(step, batch, rates) {}
  const TrainingStep step;
  const StepClock clock;
};

bool has_factors(const std::vector<GradientAndVariable>& gradients) {
  return std::ranges::any_of(gradients, [](const GradientAndVariable& one) {
    return one.gradient && !one.gradient.sparse() &&
           factors_of(one.gradient.values);
  });
}

}  // namespace

Workload workload_of(const TrainingStep& step, double batch,
                     const DeviceRates& rates) {
  const auto kept = std::make_shared<Kept>(step, batch, rates);
  Workload workload;
  workload.batch = batch;
  workload.step_seconds = kept->clock.seconds();
  workload.step_origin = "estimated";
  workload.flop_rate = rates.flops_per_s;
  for (const GradientAndVariable& one : step.gradients)
    if (one.gradient) workload.parameters += bytes_of_variable(one) / 4;
  workload.buckets_for = [kept](int workers) {
    return ExchangeReader(kept->step, kept->clock)
        .read({.group = "plan",
               .size = workers,
               .factors = {.use = FactorUse::kOff}});
  };
  workload.buckets = workload.buckets_for(2);
  workload.keys_for = [kept](int servers) {
    return ExchangeReader(kept->step, kept->clock).keys(servers);
  };
  workload.keys = workload.keys_for(1);
  if (!has_factors(step.gradients)) return workload;
  workload.with_factors = [kept, rows = static_cast<int64_t>(batch)](
                              int workers, double rate, double flops) {
    return ExchangeReader(kept->step, kept->clock)
        .read(
            {.group = "plan",
             .size = workers,
             .factors = {.rows = rows, .link_rate = rate, .flop_rate = flops}});
  };
  return workload;
}

Result<TrainingStep> find_step(const std::shared_ptr<Graph>& graph,
                               const std::string& name) {
  std::map<std::string, Value> variables;
  for (const Value& variable : graph->collection(kTrainable))
    variables.emplace(variable_name(variable), variable);
  TrainingStep step{.graph = graph};
  std::vector<Node*> updates;
  for (const auto& node : graph->nodes()) {
    if (!is_update(*node)) continue;
    const auto at = variables.find(updated_by(*node));
    if (at == variables.end()) continue;
    updates.push_back(node.get());
    step.gradients.push_back({is_sparse_update(*node)
                                  ? Gradient(node->input(0), node->input(1), {})
                                  : Gradient(node->input(0)),
                              at->second});
  }
  if (updates.empty())
    return error(Code::kInvalidArgument,
                 "{}: the graph has no gradients, since no optimizer updates a "
                 "trainable variable; save it after optimizer.minimize(loss)",
                 name);
  step.train = &group(*graph, updates, "planned_step");
  return step;
}

}  // namespace rondo
