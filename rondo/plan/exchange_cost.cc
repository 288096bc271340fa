#include "rondo/plan/exchange_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/tree.h"

namespace rondo {
namespace {

// Bytes on the links of the network, each way.
class Load {
 public:
  explicit Load(const Network& network)
      : network_(network),
        up_(static_cast<size_t>(network.hosts)),
        down_(up_.size()),
        rack_up_(static_cast<size_t>(network.racks)),
        rack_down_(rack_up_.size()) {}

  // From one host to another.
  void send(int from, int to, double bytes) {
    if (from == to) return;
    up_[static_cast<size_t>(from)] += bytes;
    down_[static_cast<size_t>(to)] += bytes;
    const int a = network_.rack_of(from), b = network_.rack_of(to);
    if (a == b) return;
    rack_up_[static_cast<size_t>(a)] += bytes;
    rack_down_[static_cast<size_t>(b)] += bytes;
  }
  double busiest() const {
    return std::max(std::ranges::max(up_), std::ranges::max(down_));
  }
  double busiest_rack() const {
    return std::max(std::ranges::max(rack_up_), std::ranges::max(rack_down_));
  }

 private:
  const Network& network_;
  std::vector<double> up_, down_, rack_up_, rack_down_;
};

// Of the busiest links.
double seconds_of(const Network& network, double link, double uplink) {
  const double seconds = link / network.link;
  return network.has_uplinks() ? std::max(seconds, uplink / network.uplink)
                               : seconds;
}
double seconds_of(const Network& network, const Load& load) {
  return seconds_of(network, load.busiest(), load.busiest_rack());
}

std::vector<int> workers_in_racks(const Network& network) {
  std::vector<int> workers(static_cast<size_t>(network.racks));
  for (int host = 0; host < network.hosts; ++host)
    workers[static_cast<size_t>(network.rack_of(host))] +=
        network.workers_on(host);
  return workers;
}

bool one_host(const Network& network) { return network.hosts == 1; }

// What of a message between hosts has to be there before it is passed on.
double first_blocks(const Network& network, double bytes) {
  return std::min(bytes, network.streams * network.block);
}

// A message's latency and the time of its first blocks, after which it can be
// passed on.
double hop(const Network& network, double bytes) {
  if (one_host(network))
    return network.local_latency +
           std::min(bytes, network.block) / network.local_rate;
  return network.latency + first_blocks(network, bytes) / network.link;
}

ExchangeCost pipelined(const Network& network, const Load& load, double depth,
                       double bytes) {
  return {.link_bytes = load.busiest(),
          .seconds = seconds_of(network, load) + depth * hop(network, bytes)};
}

// Each chunk is passed on block by block, so a step takes as long as its bytes
// need, or as long as the first block of a chunk is on its way.
ExchangeCost ring_steps(const Network& network, double chunk, int steps) {
  const int n = network.workers;
  if (one_host(network)) {
    const double step =
        std::max(chunk / network.local_rate, hop(network, chunk));
    return {.worker_bytes = steps * chunk,
            .seconds = steps * step + network.local_latency};
  }
  Load load(network);
  for (int rank = 0; rank < n; ++rank)
    load.send(network.host_of(rank), network.host_of((rank + 1) % n), chunk);
  // Of the n edges of the ring, those between hosts take longer.
  const double within = network.local_latency +
                        std::min(chunk, network.block) / network.local_rate;
  const double on_the_way =
      (network.hosts * hop(network, chunk) + (n - network.hosts) * within) / n;
  const double step = std::max(seconds_of(network, load), on_the_way);
  return {.worker_bytes = steps * chunk,
          .link_bytes = steps * load.busiest(),
          .seconds = steps * step + network.latency};
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
    Load load(network);
    for (int host = 1; host < network.hosts; ++host) {
      load.send(host, 0, bytes * network.workers_on(host));
      load.send(0, host, bytes * network.workers_on(host));
    }
    // A block is back once all workers have sent theirs.
    cost = pipelined(network, load, 1, bytes);
    cost.seconds += network.latency + (n - network.workers_on(0) - 1) *
                                          first_blocks(network, bytes) /
                                          network.link;
  }
  cost.worker_bytes = 2.0 * (n - 1) / n * bytes;
  return cost;
}

ExchangeCost tree(const Network& network, double bytes) {
  const int n = network.workers;
  Load load(network);
  for (int rank = 1; rank < n; ++rank) {
    const int child = network.host_of(rank);
    const int parent = network.host_of(tree_parent(rank));
    load.send(child, parent, bytes);
    load.send(parent, child, bytes);
  }
  const double depth = tree_depth(n);
  ExchangeCost cost = one_host(network)
                          ? local(network, depth * bytes, 2 * depth)
                          : pipelined(network, load, 2 * depth, bytes);
  cost.worker_bytes = 2.0 * (n - 1) / n * bytes;
  return cost;
}

// Adds a step in which all messages begin at once and the next waits for them.
void add_step(ExchangeCost& cost, const Network& network, const Load& load,
              double bytes) {
  cost.link_bytes += load.busiest();
  cost.seconds += one_host(network)
                      ? bytes / network.local_rate + network.local_latency
                      : seconds_of(network, load) + network.latency;
}

// As butterfly.cc: ranks beyond the power of two p give their vector to a
// neighbour before, and get the result after.
ExchangeCost butterfly(const Network& network, double bytes) {
  const int n = network.workers;
  const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int extra = n - p;
  const auto rank_of = [&](int v) { return v < extra ? 2 * v + 1 : v + extra; };
  ExchangeCost cost;
  if (extra > 0) {
    Load load(network);
    for (int v = 0; v < extra; ++v)
      load.send(network.host_of(2 * v), network.host_of(2 * v + 1), bytes);
    add_step(cost, network, load, bytes);
    add_step(cost, network, load, bytes);
  }
  for (int d = p / 2; d >= 1; d /= 2) {
    Load load(network);
    const double part = bytes * d / p;
    for (int v = 0; v < p; ++v)
      load.send(network.host_of(rank_of(v)), network.host_of(rank_of(v ^ d)),
                part);
    add_step(cost, network, load, part);
    add_step(cost, network, load, part);
  }
  cost.worker_bytes = (2.0 * bytes * (p - 1) / p * p + 2.0 * bytes * extra) / n;
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
  // The rings of all slices share the links.
  ExchangeCost cost =
      ring_steps(between, slice / hosts * slices, 2 * (hosts - 1));
  cost.worker_bytes *= static_cast<double>(hosts) / network.workers;
  cost.seconds += in_memory(network, bytes);
  return cost;
}

// The same with servers on the workers' hosts. A host's link carries what its
// workers send to servers elsewhere and what its servers answer to workers
// elsewhere, and what goes from a worker to a server of its host stays there.
ExchangeCost served_beside(const Method& method, const Network& network,
                           double bytes) {
  const double n = network.workers;
  const double k = method.spare;
  std::vector<double> servers(static_cast<size_t>(network.hosts));
  for (int i = 0; i < method.spare; ++i)
    ++servers[static_cast<size_t>(network.host_of_server(i, method.spare))];
  struct Place {
    double workers = 0, servers = 0;
    // That leave it for each byte of a worker and server.
    double sent(double all, double all_servers) const {
      return workers * (all_servers - servers) + servers * (all - workers);
    }
  };
  std::vector<Place> racks(static_cast<size_t>(network.racks));
  double link = 0, uplink = 0;
  for (int host = 0; host < network.hosts; ++host) {
    const Place here{static_cast<double>(network.workers_on(host)),
                     servers[static_cast<size_t>(host)]};
    link = std::max(link, here.sent(n, k));
    Place& rack = racks[static_cast<size_t>(network.rack_of(host))];
    rack.workers += here.workers;
    rack.servers += here.servers;
  }
  for (const Place& rack : racks) uplink = std::max(uplink, rack.sent(n, k));
  const double part = bytes / k;
  ExchangeCost cost;
  cost.worker_bytes = bytes;
  cost.link_bytes = link * part;
  // There and back; sums leave when a part of all workers has arrived.
  cost.startup =
      2 * network.latency + n * std::min(part, network.part) / network.link;
  cost.seconds =
      seconds_of(network, cost.link_bytes, uplink * part) + cost.startup;
  return cost;
}

// A share is traded with spare machines: workers give numbers and get sums. The
// rest goes around the ring.
ExchangeCost served(const Method& method, const Network& network,
                    double bytes) {
  const double n = network.workers;
  const double k = method.spare;
  const double share = spare_share(method, network, bytes);
  ExchangeCost ring;
  if (share < 1)
    ring =
        ring_steps(network, (1 - share) * bytes / n, 2 * (network.workers - 1));
  if (share == 0) return ring;
  ExchangeCost cost;
  cost.worker_bytes = share * bytes + ring.worker_bytes;
  cost.link_bytes =
      std::max(network.most_on_a_host() * share * bytes + ring.link_bytes,
               n * share * bytes / k);
  double uplink = 0;
  const std::vector<int> racks = workers_in_racks(network);
  for (size_t rack = 0; rack < racks.size(); ++rack) {
    const double workers = racks[rack];
    // Spare machines go to the racks in turn.
    const double spare = std::ceil((k - static_cast<double>(rack)) /
                                   static_cast<double>(racks.size()));
    uplink = std::max(
        uplink,
        share * bytes / k * (workers * (k - spare) + spare * (n - workers)) +
            ring.worker_bytes);
  }
  // There and back; sums leave when a part of all workers has arrived.
  const double part = std::min(share * bytes / k, spare_part(method, network));
  cost.startup = 2 * network.latency + n * part / network.link;
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

ExchangeCost reduction_cost(const Method& method, const Network& network,
                            double bytes) {
  const int n = network.workers;
  if (n == 1) return {};
  switch (method.kind) {
    case MethodKind::kNaive: return naive(network, bytes);
    case MethodKind::kStar: return star(seen_by(method, network), bytes);
    case MethodKind::kTree: return tree(network, bytes);
    case MethodKind::kButterfly: return butterfly(network, bytes);
    case MethodKind::kRing: return ring_steps(network, bytes / n, 2 * (n - 1));
    case MethodKind::kDirect: return {.seconds = in_memory(network, bytes)};
    case MethodKind::kHierarchical: return hierarchical(network, bytes);
    case MethodKind::kServers:
    case MethodKind::kHybrid:
      return method.beside ? served_beside(method, network, bytes)
                           : served(method, network, bytes);
  }
  return {};
}

ExchangeCost gather_cost(const Network& network, double bytes) {
  if (network.workers == 1) return {};
  return ring_steps(network, bytes, network.workers - 1);
}

}  // namespace rondo
