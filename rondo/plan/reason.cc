#include "rondo/plan/reason.h"

#include <algorithm>
#include <bit>
#include <span>

#include "rondo/base/units.h"
#include "rondo/collectives/tree.h"
#include "rondo/plan/exchange_cost.h"
#include "rondo/plan/step_simulator.h"

namespace rondo {
namespace {

constexpr Method kRing{.kind = MethodKind::kRing};

// Messages of a block that wait for each other.
int rounds_of(const Method& method, int workers) {
  const auto n = static_cast<unsigned>(workers);
  switch (method.kind) {
    case MethodKind::kNaive: return 1;
    case MethodKind::kStar:
    case MethodKind::kServers: return 2;
    case MethodKind::kTree: return 2 * tree_depth(workers);
    case MethodKind::kButterfly:
      return 2 * (std::bit_width(n) - 1) + (std::has_single_bit(n) ? 0 : 2);
    default: return 2 * (workers - 1);
  }
}

Network without_latency(Network network) {
  network.latency = network.local_latency = 0;
  network.block = 1;
  network.part = network.hybrid_part = 1;
  return network;
}

// What the gradients take on the busiest link, without any latency.
double busy_seconds(const Method& method, const Network& network,
                    const Workload& workload) {
  return ExchangeCosts(method, without_latency(network))
      .at_once(exchanges_by(method, network, workload));
}

// The busiest link of the ring, as that of the others is called too.
struct BusiestLink {
  std::string_view name;
  double rate = 0;
};
BusiestLink busiest_link(const Network& network, const Workload& workload) {
  if (network.hosts == 1) return {"memory", network.local_rate};
  Network flat = network;
  flat.uplink = 0;
  const bool uplink =
      network.has_uplinks() && busy_seconds(kRing, network, workload) >
                                   1.01 * busy_seconds(kRing, flat, workload);
  if (uplink) return {"a rack's uplink", network.uplink};
  return {"the busiest link", network.link};
}

// Which share of the ring's exchanges, one after another, its links are idle.
double idle_share(const Network& network, const Workload& workload) {
  const ExchangeCosts costs(kRing, network);
  const ExchangeCosts quick(kRing, without_latency(network));
  double whole = 0, busy = 0;
  for (const auto& exchange : exchanges_by(kRing, network, workload)) {
    whole += costs.of(exchange).seconds;
    busy += quick.of(exchange).seconds;
  }
  return 1 - busy / whole;
}

// Against the ring, which is what most would take; empty where neither bytes
// nor rounds speak for it.
std::string against_ring(const Method& method, const Network& network,
                         const Workload& workload) {
  const BusiestLink link = busiest_link(network, workload);
  const double own = busy_seconds(method, network, workload);
  const double ring = busy_seconds(kRing, network, workload);
  const int rounds = rounds_of(method, network.workers);
  const int ring_rounds = rounds_of(kRing, network.workers);
  const std::string fewer =
      rounds < ring_rounds
          ? fmt::format("{} round{} of messages and not {}", rounds,
                        rounds == 1 ? "" : "s", ring_rounds)
          : "";
  if (own < 0.99 * ring)
    return fmt::format("{} carries {} and not {} as in the ring{}{}", link.name,
                       bytes_text(own * link.rate),
                       bytes_text(ring * link.rate),
                       fewer.empty() ? "" : ", in ", fewer);
  if (fewer.empty()) return {};
  if (own <= 1.01 * ring)
    return fmt::format("{} carries as much as in the ring, in {}", link.name,
                       fewer);
  const double idle = idle_share(network, workload);
  if (idle < 0.1) return {};
  return fmt::format(
      "latencies are {:.0f} % of what the ring takes, and it has {}",
      100 * idle, fewer);
}

// Of tables; servers get fewer bytes of them.
bool has_rows(std::span<const PlannedExchange> exchanges) {
  return std::ranges::any_of(
      exchanges, [](const PlannedExchange& one) { return one.rows > 0; });
}

}  // namespace

std::string reason_for(const Method& method, const Network& network,
                       const Workload& workload) {
  const std::string compared = against_ring(method, network, workload);
  switch (method.kind) {
    case MethodKind::kDirect:
      return "all workers are on one host, and reduce in its memory";
    case MethodKind::kHierarchical:
      return fmt::format(
          "workers of a host add up in its memory first, so rings between "
          "hosts have {} members and not {}",
          network.hosts, network.workers);
    case MethodKind::kServers:
      return fmt::format(
          "each gradient goes to servers and back by itself, as soon as it is "
          "ready{}{}",
          compared.empty() ? "" : ", and ", compared);
    case MethodKind::kRing:
    case MethodKind::kHybrid: break;
    default:
      return compared.empty() ? "no other one is quicker as simulated"
                              : compared;
  }
  if (method.factors)
    return "fully connected layers send factors, which are smaller than their "
           "gradients, and the rest goes around the ring";
  if (has_rows(exchanges_by(method, network, workload)))
    return "all links are equally busy, and no other one is quicker as "
           "simulated";
  return "each worker sends the least bytes that are possible, and all links "
         "are equally busy";
}

}  // namespace rondo
