#include "rondo/plan/sweeps.h"

#include <algorithm>
#include <cmath>

namespace rondo {
namespace {

constexpr int kMostInSweep = 4096;
constexpr double kMegabit = 1e6 / 8;
// Mbit/s.
constexpr double kRates[] = {100,   250,   500,   1000,   2500,   5000,  10000,
                             25000, 40000, 50000, 100000, 200000, 400000};

double step_of(const Method& method, const Network& network,
               const Workload& workload, StepOptions options) {
  options.most_blocks = 0;
  const Result<StepTimes> times =
      simulate_step(method, network, workload, options);
  return times->step;  // without messages nothing fails
}

// A curve's method, whose servers are a share of the workers.
struct Compared {
  Method method;
  double servers = 0;  // for each worker
  std::string name;

  Method for_workers(int workers) const {
    Method made = method;
    // 2/49 of 49 may come to a little less than 2.
    constexpr double kRounding = 1e-9;
    if (servers > 0)
      made.spare = std::max(1, static_cast<int>(servers * workers + kRounding));
    return made;
  }
};

std::vector<Compared> compared(const Network& network, const Workload& workload,
                               const Method& best) {
  std::vector<Compared> all;
  const auto add = [&](Method method, double servers, std::string name) {
    for (const Compared& there : all)
      if (there.name == name) return;
    all.push_back({method, servers, std::move(name)});
  };
  for (const MethodKind kind : {MethodKind::kStar, MethodKind::kTree,
                                MethodKind::kButterfly, MethodKind::kRing})
    add({.kind = kind}, 0, std::string(name_of(kind)));
  if (workload.with_factors)
    add({.kind = MethodKind::kRing, .factors = true}, 0, "ring, factors");
  if (network.hosts > 1) {
    if (network.most_on_a_host() > 1)
      add({.kind = MethodKind::kHierarchical}, 0, "hierarchical");
    add({.kind = MethodKind::kServers}, 0.5, "ps, a server for two workers");
    add({.kind = MethodKind::kServers}, 1, "ps, a server for each worker");
  }
  if (best.spare == 0) add(best, 0, best.name());
  if (best.beside)
    add(best, static_cast<double>(best.spare) / network.workers,
        fmt::format("ps, {} servers beside {} workers", best.spare,
                    network.workers));
  return all;
}

double efficiency_at(const Compared& one, const Network& network,
                     const Workload& workload, const StepOptions& options) {
  return workload.step_seconds /
         step_of(one.for_workers(network.workers), network, workload, options);
}

// Of those whose step is at most 1 % longer than the shortest.
ServerChoice fewest_within(std::vector<ServerChoice> choices) {
  std::ranges::sort(choices, {}, &ServerChoice::servers);
  const double least = std::ranges::min(choices, {}, &ServerChoice::step).step;
  return *std::ranges::find_if(choices, [&](const ServerChoice& choice) {
    return choice.step <= 1.01 * least;
  });
}

int by_closed_forms(const Network& network, const Workload& workload,
                    const StepOptions& options, bool beside) {
  std::vector<ServerChoice> choices;
  // Beyond some hundreds, not every number is tried.
  const int stride = std::max(1, network.workers / 256);
  const auto consider = [&](int servers) {
    const Method method{
        .kind = MethodKind::kServers, .spare = servers, .beside = beside};
    choices.push_back({servers, step_of(method, network, workload, options)});
  };
  for (int servers = 1; servers < network.workers; servers += stride)
    consider(servers);
  consider(network.workers);
  return fewest_within(choices).servers;
}

}  // namespace

Sweep sweep_workers(const Network& network, const Workload& workload,
                    const StepOptions& options, const Method& best) {
  Sweep sweep;
  const int each = network.most_on_a_host();
  std::vector<Network> networks;
  for (int workers = 2; workers <= kMostInSweep; workers *= 2) {
    Network larger = network;
    // One host stays one; of several, none has more workers than now.
    larger.spread(workers, network.hosts > 1 ? (workers + each - 1) / each : 1);
    larger.racks = std::min(network.racks, larger.hosts);
    sweep.at.push_back(workers);
    networks.push_back(larger);
  }
  for (const Compared& one : compared(network, workload, best)) {
    Curve curve{one.name, {}};
    for (const Network& larger : networks)
      curve.efficiency.push_back(efficiency_at(one, larger, workload, options));
    sweep.curves.push_back(std::move(curve));
  }
  return sweep;
}

Sweep sweep_rate(const Network& network, const Workload& workload,
                 const StepOptions& options, const Method& best) {
  Sweep sweep;
  for (const double megabits : kRates) sweep.at.push_back(megabits * kMegabit);
  for (const Compared& one : compared(network, workload, best)) {
    Curve curve{one.name, {}};
    for (const double rate : sweep.at) {
      Network faster = network;
      faster.link = rate;
      curve.efficiency.push_back(efficiency_at(one, faster, workload, options));
    }
    sweep.curves.push_back(std::move(curve));
  }
  return sweep;
}

std::optional<double> rate_for(double efficiency, const Method& method,
                               const Network& network, const Workload& workload,
                               const StepOptions& options) {
  const auto reached = [&](double rate) {
    Network other = network;
    other.link = rate;
    return workload.step_seconds / step_of(method, other, workload, options) >=
           efficiency;
  };
  // A faster link is not always better, since with it fewer gradients travel as
  // factors: the slowest that is enough is looked for.
  constexpr double kLeast = 1e3, kMost = 1e14;  // 8 kbit/s, 800 Tbit/s
  constexpr double kStep = 1.25;
  double high = kLeast;
  while (!reached(high)) {
    if (high >= kMost) return std::nullopt;
    high *= kStep;
  }
  double low = high / kStep;
  while (high > kLeast && high / low > 1.0005) {
    const double middle = std::sqrt(low * high);
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

Result<ServerChoice> best_servers(std::span<const MethodPrediction> predicted,
                                  const Network& network,
                                  const Workload& workload,
                                  const StepOptions& options, bool beside) {
  std::vector<ServerChoice> choices;
  for (const MethodPrediction& one : predicted)
    if (one.method.by_keys() && one.method.beside == beside)
      choices.push_back(
          {one.method.spare, one.step.step, one.step.by_messages});
  const Method chosen{
      .kind = MethodKind::kServers,
      .spare = by_closed_forms(network, workload, options, beside),
      .beside = beside};
  if (std::ranges::find(choices, chosen.spare, &ServerChoice::servers) ==
      choices.end()) {
    RONDO_ASSIGN_OR_RETURN(const StepTimes times,
                           simulate_step(chosen, network, workload, options));
    choices.push_back({chosen.spare, times.step, times.by_messages});
  }
  return fewest_within(choices);
}

}  // namespace rondo
