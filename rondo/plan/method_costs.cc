#include "rondo/plan/method_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

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

// All bytes within one host go from memory to memory.
ExchangeCost local(const Network& network, double busiest, double depth) {
  return {.seconds =
              busiest / network.local_rate + depth * network.local_latency};
}

// What workers of one host do in its memory, before and after.
double in_memory(const Network& network, double bytes) {
  return network.most_on_a_host() * bytes / network.memory_rate / 2 +
         3 * network.local_latency;
}

// Bytes that a worker gives to servers, and gets of them. Links carry the more
// of both one way and the less the other.
struct Traded {
  double less = 0;
  double more = 0;
  Traded(double bytes, double back)
      : less(std::min(bytes, back)), more(std::max(bytes, back)) {}
};

}  // namespace

ExchangeCost memory_cost(const Network& network, double bytes) {
  return {.seconds = in_memory(network, bytes)};
}

// Each chunk is passed on block by block, so steps take as long as their bytes
// need, and the last of them its way; or each as long as the first block of a
// chunk is on its way. Ranks are on hosts in order, so in a step one chunk
// leaves each host, and each rack, or one of each of several rings, which share
// the links.
ExchangeCost ring_cost(const Network& network, double chunk, int steps,
                       int rings) {
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

ExchangeCost naive_cost(const Network& network, double bytes) {
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

ExchangeCost star_cost(const Network& network, double bytes) {
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

ExchangeCost tree_cost(const Network& network, const MessageLoad& each,
                       double bytes) {
  const int n = network.workers;
  ExchangeCost cost;
  if (one_host(network)) {
    // The root gives it to its children, one at each level.
    cost = local(network, tree_depth(n) * bytes, 2 * each.hops);
  } else {
    // To the root and back. The first block of one of these hops is among the
    // bytes of the busiest link.
    cost.link_bytes = each.link * bytes;
    cost.seconds = seconds_of(network, cost.link_bytes, each.uplink * bytes) -
                   first_blocks(network, bytes) / network.link +
                   2 * (each.hops - each.local_hops) * hop(network, bytes) +
                   2 * each.local_hops * local_hop(network, bytes);
  }
  cost.worker_bytes = 2.0 * (n - 1) / n * bytes;
  return cost;
}

ExchangeCost butterfly_cost(const Network& network,
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

ExchangeCost hierarchical_cost(const Network& network, double bytes) {
  const int hosts = network.hosts;
  // As many on each host as on that with the fewest workers.
  const int slices = network.least_on_a_host();
  const double slice = bytes / slices;
  Network between = network;
  between.spread(hosts, hosts);
  ExchangeCost cost =
      ring_cost(between, slice / hosts, 2 * (hosts - 1), slices);
  cost.worker_bytes *= static_cast<double>(hosts) / network.workers;
  cost.seconds += in_memory(network, bytes);
  return cost;
}

ExchangeCost served_beside_cost(const Method& method, const Network& network,
                                const MessageLoad& each, double bytes,
                                double back, double part) {
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
  // There and back; sums leave when a part of all workers has arrived, and what
  // the server's host pushes meanwhile has left.
  const double arrives = each.senders * std::min(bytes / method.spare, part);
  cost.startup = 2 * network.latency +
                 std::max(0.0, arrives - each.pushes * bytes) / network.link;
  const double uplink = each.uplink * traded.less + each.more_uplink * beyond;
  cost.seconds = seconds_of(network, cost.link_bytes, uplink) + cost.startup;
  return cost;
}

ExchangeCost served_apart_cost(const Method& method, const Network& network,
                               double bytes, double back, double part) {
  const double n = network.workers;
  const double k = method.spare;
  const double share = spare_share(method, network, bytes);
  ExchangeCost ring;
  if (share < 1)
    ring =
        ring_cost(network, (1 - share) * bytes / n, 2 * (network.workers - 1));
  if (share == 0) return ring;
  const Traded traded(share * bytes, share * back);
  ExchangeCost cost;
  cost.worker_bytes = share * bytes + ring.worker_bytes;
  cost.link_bytes =
      std::max(network.most_on_a_host() * traded.more + ring.link_bytes,
               n * traded.more / k);
  // There and back; sums leave when a part of all workers has arrived.
  const double arrives = n * std::min(share * bytes / k, part) / network.link;
  cost.startup = 2 * network.latency + arrives;
  double uplink = 0;  // seconds
  const std::vector<int> racks = workers_in_racks(network);
  for (size_t rack = 0; rack < racks.size(); ++rack) {
    const double workers = racks[rack];
    // Spare machines go to the racks in turn.
    const double spare = std::ceil((k - static_cast<double>(rack)) /
                                   static_cast<double>(racks.size()));
    const double given = workers * (k - spare) / k;
    const double answered = spare * (n - workers) / k;
    if (!network.has_uplinks()) break;
    const double sent =
        (given + answered) * traded.less +
        std::max(given, answered) * (traded.more - traded.less) +
        ring.worker_bytes;
    // Until sums leave, it has what workers push.
    const double pushed = given * share * bytes / network.uplink;
    uplink = std::max(uplink, sent / network.uplink + 2 * network.latency +
                                  std::max(0.0, arrives - pushed));
  }
  cost.seconds = std::max(
      {cost.link_bytes / network.link + cost.startup, uplink, ring.seconds});
  return cost;
}

}  // namespace rondo
