#include "rondo/plan/step_simulator.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "rondo/plan/exchange_cost.h"
#include "rondo/plan/method_plans.h"
#include "rondo/plan/network_simulator.h"

namespace rondo {
namespace {

class StepSimulator {
 public:
  StepSimulator(const Method& method, const Network& network,
                const Workload& workload, const StepOptions& options)
      : method_(method),
        network_(seen_by(method, network.for_messages())),
        workload_(workload),
        options_(options),
        slowness_(slowness(network.workers, options.stragglers)),
        exchanges_(exchanges_by(method, network, workload)) {}

  Result<StepTimes> run() {
    StepTimes times;
    double products = 0;
    for (const PlannedExchange& exchange : exchanges_)
      products += exchange.flops * (network_.workers - 1);
    products /= workload_.flop_rate;
    times.computation = workload_.step_seconds + products;
    times.by_messages = blocks() <= options_.most_blocks;
    RONDO_ASSIGN_OR_RETURN(times.communication, last_end(0, times.by_messages));
    RONDO_ASSIGN_OR_RETURN(const double end,
                           last_end(workload_.step_seconds, times.by_messages));
    const double slowest = std::ranges::max(slowness_) * workload_.step_seconds;
    times.step = std::max(slowest, end) + products;
    times.waiting = slowest - workload_.step_seconds;
    times.exposed = times.step - times.computation - times.waiting;
    return times;
  }

 private:
  double bytes_of(const PlannedExchange& exchange) const {
    return method_.bf16 ? exchange.bytes / 2 : exchange.bytes;
  }
  // That all ranks send, about.
  double blocks() const {
    const double messages = messages_of(method_, network_);
    const double n = network_.workers;
    double count = 0;
    for (const PlannedExchange& exchange : exchanges_) {
      const double bytes = bytes_of(exchange);
      if (exchange.gather)
        count += n * (n - 1) * (1 + bytes / network_.block);
      else
        count += messages +
                 n * reduction_cost(method_, network_, bytes).worker_bytes /
                     network_.block;
    }
    return count;
  }

  // As many as are no trouble.
  int pieces() const {
    // A window is many pieces, or it would be found smaller than it is.
    if (network_.window > 0)
      return static_cast<int>(
          std::max(1.0, std::ceil(16 * network_.block / network_.window)));
    constexpr int kMost = 4;
    constexpr double kFew = 25e3;  // blocks
    return blocks() <= kFew ? kMost : 1;
  }

  // The second at which the last exchange is over, when a worker of usual speed
  // computes for so long.
  Result<double> last_end(double computation, bool by_messages) const {
    return by_messages ? by_plans(computation) : by_costs(computation);
  }

  double by_costs(double computation) const {
    const double slowest = std::ranges::max(slowness_);
    double now = 0, last = 0;
    for (const PlannedExchange& exchange : exchanges_) {
      const double bytes = bytes_of(exchange);
      const ExchangeCost cost = exchange.gather
                                    ? gather_cost(network_, bytes)
                                    : reduction_cost(method_, network_, bytes);
      now =
          std::max(now, exchange.ready * computation * slowest) + cost.seconds;
      last = std::max(last, now);
      // The links are free for the next before all of this has come back.
      now -= cost.startup;
    }
    return last;
  }

  SimulatedOperation operation_of(const PlannedExchange& exchange,
                                  std::vector<Plan> plans,
                                  double computation) const {
    SimulatedOperation operation;
    operation.element_bytes = method_.bf16 ? 2 : 4;
    operation.plans = std::move(plans);
    for (const double slow : slowness_)
      operation.ready.push_back(exchange.ready * computation * slow);
    // Spare machines compute nothing, and wait for what comes; of some there is
    // nothing for them.
    operation.plans.resize(slowness_.size() +
                           static_cast<size_t>(method_.spare));
    operation.ready.resize(operation.plans.size(), 0);
    return operation;
  }

  Result<double> by_plans(double computation) const {
    std::vector<SimulatedOperation> operations;
    for (const PlannedExchange& exchange : exchanges_) {
      const int64_t count = std::llround(exchange.bytes / 4);
      const auto add = [&](std::vector<Plan> plans, bool apart) {
        operations.push_back(
            operation_of(exchange, std::move(plans), computation));
        operations.back().apart = apart;
        // The strategy's own thread does that while servers have nothing.
        operations.back().holds =
            !apart && method_.kind == MethodKind::kHybrid &&
            (operations.size() == 1 || operations.end()[-2].holds);
      };
      if (exchange.gather) {
        add(gather_plans(network_, count), false);
        continue;
      }
      if (method_.kind != MethodKind::kHybrid) {
        add(reduction_plans(method_, network_, count, exchange.by_server),
            false);
        continue;
      }
      // What servers get does not wait for what ranks do with earlier ones.
      const double share = spare_share(method_, network_, bytes_of(exchange));
      const int64_t served = std::llround(share * static_cast<double>(count));
      const Method servers{.kind = MethodKind::kServers,
                           .spare = method_.spare};
      if (served > 0) add(reduction_plans(servers, network_, served), true);
      if (served < count)
        add(reduction_plans({.kind = MethodKind::kRing}, network_,
                            count - served),
            false);
    }
    RONDO_ASSIGN_OR_RETURN(
        const auto ends,
        simulate_network(network_, operations,
                         {.spare = method_.spare,
                          .beside = method_.beside,
                          .in_order = !method_.by_keys(),
                          .part = spare_part(method_, network_),
                          .unanswered = method_.kind == MethodKind::kHybrid
                                            ? network_.hybrid_unanswered
                                            : 0,
                          .pieces = pieces()}));
    double last = 0;
    for (const std::vector<double>& end : ends)
      last = std::max(last, std::ranges::max(end));
    return last;
  }

  const Method& method_;
  const Network network_;  // as messages see it
  const Workload& workload_;
  const StepOptions& options_;
  const std::vector<double> slowness_;
  const std::vector<PlannedExchange> exchanges_;
};

}  // namespace

std::vector<double> slowness(int workers, const Stragglers& stragglers) {
  std::vector<double> slow(static_cast<size_t>(workers), 1.0);
  std::mt19937_64 random(stragglers.seed);
  std::normal_distribution<double> normal;
  for (double& one : slow) one += stragglers.jitter * std::abs(normal(random));
  slow.back() *= stragglers.slowest;
  return slow;
}

std::vector<PlannedExchange> exchanges_by(const Method& method,
                                          const Network& network,
                                          const Workload& workload) {
  if (network.workers == 1) return {};
  if (method.by_keys())
    return workload.keys_for ? workload.keys_for(method.spare) : workload.keys;
  if (method.factors && workload.with_factors)
    return workload.with_factors(network.workers, network.link,
                                 workload.flop_rate);
  return workload.buckets_for ? workload.buckets_for(network.workers)
                              : workload.buckets;
}

Result<StepTimes> simulate_step(const Method& method, const Network& network,
                                const Workload& workload,
                                const StepOptions& options) {
  return StepSimulator(method, network, workload, options).run();
}

}  // namespace rondo
