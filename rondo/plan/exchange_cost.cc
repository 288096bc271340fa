#include "rondo/plan/exchange_cost.h"

#include <algorithm>
#include <bit>

#include "rondo/collectives/message_plans.h"

namespace rondo {
namespace {

// Hosts that share the driver's link get equally much of it, so those with more
// workers come later, and answers wait for them.
bool star_waits(const Network& network) {
  return network.has_uplinks() ||
         (network.hosts > 2 &&
          network.most_on_a_host() != network.least_on_a_host());
}

}  // namespace

Network seen_by(const Method& method, const Network& network) {
  Network seen = network;
  if (method.kind == MethodKind::kStar) {
    seen.block = std::min<double>(seen.block, kStarBlockBytes);
    seen.streams = 1;
  }
  return seen;
}

bool is_lower_bound(const Method& method, const Network& network) {
  return method.kind == MethodKind::kTree ||
         method.kind == MethodKind::kHybrid || method.beside ||
         (method.kind == MethodKind::kServers && network.has_uplinks()) ||
         (method.kind == MethodKind::kStar && star_waits(network)) ||
         (method.kind == MethodKind::kButterfly &&
          !std::has_single_bit(static_cast<unsigned>(network.workers)));
}

ExchangeCosts::ExchangeCosts(const Method& method, const Network& network)
    : method_(method),
      network_(seen_by(method, network)),
      ring_network_(network),
      loads_(link_loads(method, network)) {}

ExchangeCost ExchangeCosts::reduction(double bytes) const {
  const int n = network_.workers;
  if (n == 1) return {};
  switch (method_.kind) {
    case MethodKind::kNaive: return naive_cost(network_, bytes);
    case MethodKind::kStar: return star_cost(network_, bytes);
    case MethodKind::kTree: return tree_cost(network_, loads_[0], bytes);
    case MethodKind::kButterfly: return butterfly_cost(network_, loads_, bytes);
    case MethodKind::kRing: return ring_cost(network_, bytes / n, 2 * (n - 1));
    case MethodKind::kDirect: return memory_cost(network_, bytes);
    case MethodKind::kHierarchical: return hierarchical_cost(network_, bytes);
    case MethodKind::kServers:
    case MethodKind::kHybrid:
      return served(bytes, bytes, spare_part(method_, network_));
  }
  return {};
}

ExchangeCost ExchangeCosts::served(double bytes, double back,
                                   double part) const {
  if (network_.workers == 1) return {};
  if (method_.beside)
    return served_beside_cost(method_, network_, loads_[0], bytes, back, part);
  return served_apart_cost(method_, network_, bytes, back, part);
}

// Rows of a table are one part for each server.
ExchangeCost ExchangeCosts::gather(const PlannedExchange& exchange) const {
  const double bytes = exchange.traveling(method_.bf16);
  if (method_.by_keys())
    return served(bytes, exchange.answers(network_.workers) * bytes, bytes);
  const double share = exchange.bytes > 0 ? bytes / exchange.bytes : 1;
  ExchangeCost cost;
  for (const double round : exchange.rounds()) {
    const ExchangeCost one = gather_cost(ring_network_, round * share);
    cost.worker_bytes += one.worker_bytes;
    cost.link_bytes += one.link_bytes;
    cost.seconds += one.seconds;
  }
  return cost;
}

ExchangeCost ExchangeCosts::of(const PlannedExchange& exchange) const {
  ExchangeCost cost =
      exchange.gather
          ? gather(exchange)
          : reduction(exchange.traveling(method_.bf16) / exchange.pieces);
  cost.worker_bytes *= exchange.pieces;
  cost.link_bytes *= exchange.pieces;
  cost.seconds += (exchange.pieces - 1) * (cost.seconds - cost.startup);
  return cost;
}

double ExchangeCosts::at_once(
    std::span<const PlannedExchange> exchanges) const {
  double busy = 0, startup = 0, vector = 0;
  const auto add = [&](const ExchangeCost& cost) {
    busy += cost.seconds - cost.startup;
    startup = std::max(startup, cost.startup);
  };
  for (const PlannedExchange& exchange : exchanges) {
    if (exchange.gather || method_.by_keys())
      add(of(exchange));
    else
      vector += exchange.traveling(method_.bf16);
  }
  if (vector > 0) add(reduction(vector));
  return busy + startup;
}

ExchangeCost reduction_cost(const Method& method, const Network& network,
                            double bytes) {
  return ExchangeCosts(method, network).reduction(bytes);
}

ExchangeCost gather_cost(const Network& network, double bytes) {
  if (network.workers == 1) return {};
  return ring_cost(network, bytes, network.workers - 1);
}

}  // namespace rondo
