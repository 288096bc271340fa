#include "rondo/plan/step_simulator.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "rondo/plan/exchange_cost.h"
#include "rondo/plan/method_plans.h"
#include "rondo/plan/network_simulator.h"

namespace rondo {
namespace {

// How much longer one time of a step is than another. Sums of the same times in
// another order may differ in their last digits.
double beyond(double longer, double shorter, double step) {
  const double by = longer - shorter;
  return by > 1e-12 * step ? by : 0;
}

class StepSimulator {
 public:
  StepSimulator(const Method& method, const Network& network,
                const Workload& workload, const StepOptions& options)
      : method_(method),
        workload_(workload),
        options_(options),
        slowness_(slowness(network.workers, options.stragglers)),
        exchanges_(exchanges(network)),
        network_(seen_by_messages(network.for_messages())),
        costs_(method, network.for_messages()) {}

  Result<StepTimes> run() {
    StepTimes times;
    times.computation = workload_.step_seconds;
    for (const PlannedExchange& exchange : exchanges_)
      times.computation +=
          exchange.flops * seconds_per_flop(network_, workload_);
    times.by_messages = blocks() <= options_.most_blocks;
    RONDO_ASSIGN_OR_RETURN(const Ends at_once, ends(0, times.by_messages));
    for (const std::vector<double>& end : at_once)
      times.communication =
          std::max(times.communication, std::ranges::max(end));
    RONDO_ASSIGN_OR_RETURN(const Ends ended,
                           ends(workload_.step_seconds, times.by_messages));
    const double slowest = std::ranges::max(slowness_);
    if (times.by_messages)
      for (size_t worker = 0; worker < slowness_.size(); ++worker)
        times.step =
            std::max(times.step, step_of(worker, slowness_[worker], ended));
    else
      times.step = step_of(0, slowest, ended);
    times.waiting = (slowest - 1) * workload_.step_seconds;
    times.exposed =
        beyond(times.step, times.computation + times.waiting, times.step);
    return times;
  }

 private:
  // By closed forms it is the same to which servers a key goes, and to find
  // that out takes long where there are thousands.
  std::vector<PlannedExchange> exchanges(const Network& network) const {
    return method_.by_keys() && options_.most_blocks == 0
               ? workload_.keys
               : exchanges_by(method_, network, workload_);
  }
  // Where all exchanges go around the ring, the method has no messages.
  Network seen_by_messages(const Network& network) const {
    const bool all = std::ranges::all_of(
        exchanges_, [this](const auto& one) { return around_the_ring(one); });
    return all ? network : seen_by(method_, network);
  }
  // Seconds, by exchange and worker. By closed forms, where all workers come to
  // the end at once, one stands for all.
  using Ends = std::vector<std::vector<double>>;

  double step_of(size_t worker, double slow, const Ends& ended) const {
    const double computation = slow * workload_.step_seconds;
    const auto behind = seconds_behind(exchanges_, computation,
                                       seconds_per_flop(network_, workload_));
    std::vector<EndedExchange> own;
    for (size_t i = 0; i < exchanges_.size(); ++i)
      own.push_back({ended[i][worker], behind[i]});
    return end_of_step(backward_share(exchanges_) * computation,
                       std::move(own));
  }
  double bytes_of(const PlannedExchange& exchange) const {
    return exchange.traveling(method_.bf16);
  }
  // As it is; only parameter servers get it otherwise.
  bool around_the_ring(const PlannedExchange& exchange) const {
    return exchange.gather && !method_.by_keys();
  }
  // That all ranks send, about.
  double blocks() const {
    const double messages = messages_of(method_, network_);
    const double n = network_.workers;
    double count = 0;
    for (const PlannedExchange& exchange : exchanges_) {
      if (around_the_ring(exchange))
        count += n * (n - 1) *
                 (static_cast<double>(exchange.rounds().size()) +
                  bytes_of(exchange) / network_.block);
      else
        count += (1 + exchange.answers(network_.workers)) / 2 *
                 (exchange.pieces * messages +
                  n * costs_.of(exchange).worker_bytes / network_.block);
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

  // When a worker of usual speed computes for so long.
  Result<Ends> ends(double computation, bool by_messages) const {
    return by_messages ? by_plans(computation) : by_costs(computation);
  }

  Ends by_costs(double computation) const {
    const double slowest = std::ranges::max(slowness_);
    double now = 0;
    Ends ended;
    for (const PlannedExchange& exchange : exchanges_) {
      const ExchangeCost cost = costs_.of(exchange);
      now =
          std::max(now, exchange.ready * computation * slowest) + cost.seconds;
      ended.push_back({now});
      // The links are free for the next before all of this has come back.
      now -= cost.startup;
    }
    return ended;
  }

  SimulatedOperation operation_of(const PlannedExchange& exchange,
                                  std::vector<Plan> plans,
                                  double computation) const {
    SimulatedOperation operation;
    operation.element_bytes = method_.bf16 && exchange.rows == 0 ? 2 : 4;
    operation.whole = exchange.rows > 0;
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

  Result<Ends> by_plans(double computation) const {
    std::vector<SimulatedOperation> operations;
    std::vector<size_t> exchange_of;  // by operation
    for (size_t e = 0; e < exchanges_.size(); ++e) {
      const PlannedExchange& exchange = exchanges_[e];
      const int64_t count = std::llround(exchange.bytes / 4);
      const auto add = [&](std::vector<Plan> plans, bool apart) {
        operations.push_back(
            operation_of(exchange, std::move(plans), computation));
        exchange_of.push_back(e);
        operations.back().apart = apart;
        // The strategy's own thread does that while servers have nothing.
        operations.back().holds =
            !apart && method_.kind == MethodKind::kHybrid &&
            (operations.size() == 1 || operations.end()[-2].holds);
      };
      if (around_the_ring(exchange)) {
        for (const double bytes : exchange.rounds())
          add(gather_plans(network_, std::llround(bytes / 4)), false);
        continue;
      }
      if (method_.kind != MethodKind::kHybrid) {
        add(reduction_plans(method_, network_, count, exchange.by_server,
                            exchange.answers(network_.workers)),
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
        const auto ended,
        simulate_network(network_, operations,
                         {.spare = method_.spare,
                          .beside = method_.beside,
                          .in_order = !method_.by_keys(),
                          .part = spare_part(method_, network_),
                          .unanswered = method_.kind == MethodKind::kHybrid
                                            ? network_.hybrid_unanswered
                                            : 0,
                          .pieces = pieces()}));
    Ends found(exchanges_.size(), std::vector<double>(slowness_.size()));
    for (size_t op = 0; op < ended.size(); ++op)
      for (size_t worker = 0; worker < slowness_.size(); ++worker) {
        double& end = found[exchange_of[op]][worker];
        end = std::max(end, ended[op][worker]);
      }
    return found;
  }

  const Method& method_;
  const Workload& workload_;
  const StepOptions& options_;
  const std::vector<double> slowness_;
  const std::vector<PlannedExchange> exchanges_;
  const Network network_;  // as messages see it
  const ExchangeCosts costs_;
};

}  // namespace

double StepTimes::hidden() const {
  return beyond(communication, exposed, step);
}

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
    return workload.with_factors(network.workers,
                                 {.link = network.hosts > 1 ? network.link : 0,
                                  .flop_rate = workload.flop_rate,
                                  .bf16 = method.bf16});
  return workload.buckets_for ? workload.buckets_for(network.workers)
                              : workload.buckets;
}

double seconds_per_flop(const Network& network, const Workload& workload) {
  return (network.workers - 1) / workload.flop_rate;
}

std::vector<double> seconds_behind(std::span<const PlannedExchange> exchanges,
                                   double computation,
                                   double seconds_per_flop) {
  std::vector<double> behind;
  for (const PlannedExchange& one : exchanges)
    behind.push_back(one.update * computation + one.flops * seconds_per_flop);
  return behind;
}

double end_of_step(double backward, std::vector<EndedExchange> exchanges) {
  std::ranges::sort(exchanges, {}, &EndedExchange::end);
  double now = backward;
  for (const EndedExchange& one : exchanges)
    now = std::max(now, one.end) + one.behind;
  return now;
}

double backward_share(std::span<const PlannedExchange> exchanges) {
  double share = 1;
  for (const PlannedExchange& one : exchanges) share -= one.update;
  return share;
}

Result<StepTimes> simulate_step(const Method& method, const Network& network,
                                const Workload& workload,
                                const StepOptions& options) {
  return StepSimulator(method, network, workload, options).run();
}

}  // namespace rondo
