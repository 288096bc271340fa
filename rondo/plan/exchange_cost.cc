#include "rondo/plan/exchange_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/tree.h"

namespace rondo {
namespace {

// Of the busiest links.
double seconds_of(const Network& network, double link, double uplink) {
  const double seconds = link / network.link;
  return network.has_uplinks() ? std::max(seconds, uplink / network.uplink)
                               : seconds;
}

bool one_host(const Network& network) { return network.hosts == 1; }

// What of a message between hosts has to be there before it is passed on.
double first_blocks(const Network& network, double bytes) {
  return std::min(bytes, network.streams * network.block);
}

// A message's latency and the time of its first blocks, after which it can be
// passed on: between two hosts, and within one.
double hop(const Network& network, double bytes) {
  return network.latency + first_blocks(network, bytes) / network.link;
}
double local_hop(const Network& network, double bytes) {
  return network.local_latency +
         std::min(bytes, network.block) / network.local_rate;
}

// Each chunk is passed on block by block, so steps take as long as their bytes
// need, and the last of them its way; or each as long as the first block of a
// chunk is on its way. Ranks are on
// hosts in order, so in a step one chunk leaves each host, and each rack, or
// one of each of several rings, which share the links.
ExchangeCost ring_steps(const Network& network, double chunk, int steps,
                        int rings = 1) {
  const int n = network.workers;
  if (one_host(network)) {
    return {.worker_bytes = steps * chunk,
            .seconds = std::max(
                steps * chunk / network.local_rate + network.local_latency,
                steps * local_hop(network, chunk))};
  }
  // Of the n edges of the ring, those between hosts take longer.
  const double on_the_way = (network.hosts * hop(network, chunk) +
                             (n - network.hosts) * local_hop(network, chunk)) /
                            n;
  const double all = rings * chunk;
  return {.worker_bytes = steps * all,
          .link_bytes = steps * all,
          .seconds =
              std::max(steps * seconds_of(network, all, all) + network.latency,
                       steps * on_the_way)};
}

// All bytes within one host go from memory to memory.
ExchangeCost local(const Network& network, double busiest, double depth) {
  return {.seconds =
              busiest / network.local_rate + depth * network.local_latency};
}

ExchangeCost naive(const Network& network, double bytes) {
  const int n = network.workers;
  ExchangeCost cost;
  if (one_host(network)) {
    cost = local(network, (n - 1) * bytes, 1);
  } else {
    const double here = network.most_on_a_host();
    double uplink = 0;
    for (const double workers : workers_in_racks(network))
      uplink = std::max(uplink, workers * (n - workers) * bytes);
    cost.link_bytes = here * (n - here) * bytes;
    cost.seconds =
        seconds_of(network, cost.link_bytes, uplink) + network.latency;
  }
  cost.worker_bytes = (n - 1) * bytes;
  return cost;
}

// `network` as its messages see it.
ExchangeCost star(const Network& network, double bytes) {
  const int n = network.workers;
  ExchangeCost cost;
  if (one_host(network)) {
    cost = local(network, (n - 1) * bytes, 2);
  } else {
    // All the others' go to the first host and come back.
    const double elsewhere = n - network.workers_on(0);
    const double uplink = (n - workers_in_racks(network)[0]) * bytes;
    cost.link_bytes = elsewhere * bytes;
    // A block is back once all workers have sent theirs.
    cost.seconds = seconds_of(network, cost.link_bytes, uplink) +
                   2 * network.latency +
                   elsewhere * first_blocks(network, bytes) / network.link;
  }
  cost.worker_bytes = 2.0 * (n - 1) / n * bytes;
  return cost;
}

ExchangeCost tree(const Network& network, const MessageLoad& each,
                  double bytes) {
  const int n = network.workers;
  ExchangeCost cost;
  if (one_host(network)) {
    // The root gives it to its children, one at each level.
    cost = local(network, tree_depth(n) * bytes, 2 * each.hops);
  } else {
    // To the root and back.
    cost.link_bytes = each.link * bytes;
    cost.seconds = seconds_of(network, cost.link_bytes, each.uplink * bytes) +
                   2 * (each.hops - each.local_hops) * hop(network, bytes) +
                   2 * each.local_hops * local_hop(network, bytes);
  }
  cost.worker_bytes = 2.0 * (n - 1) / n * bytes;
  return cost;
}

// In a step all messages begin at once, and the next waits for them.
ExchangeCost butterfly(const Network& network,
                       std::span<const MessageLoad> steps, double bytes) {
  const int n = network.workers;
  const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  ExchangeCost cost;
  for (const MessageLoad& step : steps) {
    const double seconds =
        step.link == 0  // all of it within hosts
            ? step.part * bytes / network.local_rate + network.local_latency
            : seconds_of(network, step.link * bytes, step.uplink * bytes) +
                  network.latency;
    // Once to add up, once to share.
    cost.link_bytes += 2 * step.link * bytes;
    cost.seconds += 2 * seconds;
  }
  cost.worker_bytes = (2.0 * bytes * (p - 1) + 2.0 * bytes * (n - p)) / n;
  return cost;
}

// What workers of one host do in its memory, before and after.
double in_memory(const Network& network, double bytes) {
  return network.most_on_a_host() * bytes / network.memory_rate / 2 +
         3 * network.local_latency;
}

ExchangeCost hierarchical(const Network& network, double bytes) {
  const int hosts = network.hosts;
  // As many on each host as on that with the fewest workers.
  const int slices = network.least_on_a_host();
  const double slice = bytes / slices;
  Network between = network;
  between.spread(hosts, hosts);
  ExchangeCost cost =
      ring_steps(between, slice / hosts, 2 * (hosts - 1), slices);
  cost.worker_bytes *= static_cast<double>(hosts) / network.workers;
  cost.seconds += in_memory(network, bytes);
  return cost;
}

// Bytes that a worker gives to servers, and gets of them. Links carry the more
// of both one way and the less the other.
struct Traded {
  double less = 0;
  double more = 0;
  Traded(double bytes, double back)
      : less(std::min(bytes, back)), more(std::max(bytes, back)) {}
};

// Servers on the workers' hosts, which wait for parts of so many bytes.
ExchangeCost served_beside(const Method& method, const Network& network,
                           const MessageLoad& each, double bytes, double back,
                           double part) {
  const Traded traded(bytes, back);
  if (one_host(network)) {
    ExchangeCost cost =
        local(network, network.workers * traded.more / method.spare, 2);
    cost.worker_bytes = bytes;
    return cost;
  }
  const double beyond = traded.more - traded.less;
  ExchangeCost cost;
  cost.worker_bytes = bytes;
  cost.link_bytes = each.link * traded.less + each.more_link * beyond;
  // There and back; sums leave when a part of all workers has arrived.
  cost.startup =
      2 * network.latency +
      each.senders * std::min(bytes / method.spare, part) / network.link;
  const double uplink = each.uplink * traded.less + each.more_uplink * beyond;
  cost.seconds = seconds_of(network, cost.link_bytes, uplink) + cost.startup;
  return cost;
}

// A share is traded with spare machines: workers give numbers and get sums. The
// rest goes around the ring.
ExchangeCost served_apart(const Method& method, const Network& network,
                          double bytes, double back, double part) {
  const double n = network.workers;
  const double k = method.spare;
  const double share = spare_share(method, network, bytes);
  ExchangeCost ring;
  if (share < 1)
    ring =
        ring_steps(network, (1 - share) * bytes / n, 2 * (network.workers - 1));
  if (share == 0) return ring;
  const Traded traded(share * bytes, share * back);
  ExchangeCost cost;
  cost.worker_bytes = share * bytes + ring.worker_bytes;
  cost.link_bytes =
      std::max(network.most_on_a_host() * traded.more + ring.link_bytes,
               n * traded.more / k);
  double uplink = 0;
  const std::vector<int> racks = workers_in_racks(network);
  for (size_t rack = 0; rack < racks.size(); ++rack) {
    const double workers = racks[rack];
    // Spare machines go to the racks in turn.
    const double spare = std::ceil((k - static_cast<double>(rack)) /
                                   static_cast<double>(racks.size()));
    const double given = workers * (k - spare) / k;
    const double answered = spare * (n - workers) / k;
    uplink = std::max(
        uplink, (given + answered) * traded.less +
                    std::max(given, answered) * (traded.more - traded.less) +
                    ring.worker_bytes);
  }
  // There and back; sums leave when a part of all workers has arrived.
  cost.startup = 2 * network.latency +
                 n * std::min(share * bytes / k, part) / network.link;
  cost.seconds =
      std::max(seconds_of(network, cost.link_bytes, uplink) + cost.startup,
               ring.seconds);
  return cost;
}

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
         (method.kind == MethodKind::kStar && star_waits(network)) ||
         (method.kind == MethodKind::kButterfly &&
          !std::has_single_bit(static_cast<unsigned>(network.workers)));
}

ExchangeCosts::ExchangeCosts(const Method& method, const Network& network)
    : method_(method),
      network_(seen_by(method, network)),
      loads_(link_loads(method, network)) {}

ExchangeCost ExchangeCosts::reduction(double bytes) const {
  const int n = network_.workers;
  if (n == 1) return {};
  switch (method_.kind) {
    case MethodKind::kNaive: return naive(network_, bytes);
    case MethodKind::kStar: return star(network_, bytes);
    case MethodKind::kTree: return tree(network_, loads_[0], bytes);
    case MethodKind::kButterfly: return butterfly(network_, loads_, bytes);
    case MethodKind::kRing: return ring_steps(network_, bytes / n, 2 * (n - 1));
    case MethodKind::kDirect: return {.seconds = in_memory(network_, bytes)};
    case MethodKind::kHierarchical: return hierarchical(network_, bytes);
    case MethodKind::kServers:
    case MethodKind::kHybrid:
      return served(bytes, bytes, spare_part(method_, network_));
  }
  return {};
}

ExchangeCost ExchangeCosts::served(double bytes, double back,
                                   double part) const {
  if (network_.workers == 1) return {};
  return method_.beside
             ? served_beside(method_, network_, loads_[0], bytes, back, part)
             : served_apart(method_, network_, bytes, back, part);
}

// Rows of a table are one part for each server.
ExchangeCost ExchangeCosts::gather(const PlannedExchange& exchange) const {
  const double bytes = exchange.traveling(method_.bf16);
  if (method_.by_keys())
    return served(bytes, exchange.answers(network_.workers) * bytes, bytes);
  ExchangeCost cost;
  for (const double round : exchange.rounds()) {
    const ExchangeCost one =
        gather_cost(network_, round * bytes / exchange.bytes);
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
  return ring_steps(network, bytes, network.workers - 1);
}

}  // namespace rondo
