#include "rondo/plan/link_loads.h"

#include <algorithm>
#include <bit>
#include <limits>

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
    if (network_.racks == 1) return;
    const int a = network_.rack_of(from), b = network_.rack_of(to);
    if (a == b) return;
    rack_up_[static_cast<size_t>(a)] += bytes;
    rack_down_[static_cast<size_t>(b)] += bytes;
  }
  MessageLoad busiest(double part = 1) const {
    return {.part = part,
            .link = std::max(std::ranges::max(up_), std::ranges::max(down_)),
            .uplink = std::max(std::ranges::max(rack_up_),
                               std::ranges::max(rack_down_))};
  }

 private:
  const Network& network_;
  std::vector<double> up_, down_, rack_up_, rack_down_;
};

// What passes hosts takes longest, however many messages stay within one.
MessageLoad tree_load(const Network& network) {
  struct Way {
    int between = 0, within = 0;
    auto operator<=>(const Way&) const = default;
  };
  Load load(network);
  // To the root; a parent's number is below its children's.
  std::vector<Way> ways(static_cast<size_t>(network.workers));
  for (int rank = 1; rank < network.workers; ++rank) {
    const int child = network.host_of(rank);
    const int parent = network.host_of(tree_parent(rank));
    load.send(child, parent, 1);
    load.send(parent, child, 1);
    Way& way = ways[static_cast<size_t>(rank)];
    way = ways[static_cast<size_t>(tree_parent(rank))];
    ++(child == parent ? way.within : way.between);
  }
  MessageLoad busiest = load.busiest();
  const Way longest = std::ranges::max(ways);
  busiest.hops = longest.between + longest.within;
  busiest.local_hops = longest.within;
  return busiest;
}

// As butterfly.cc: ranks beyond the power of two p give their vector to a
// neighbour before, and get the result after. Halves and doubles alike.
std::vector<MessageLoad> butterfly_loads(const Network& network) {
  const int n = network.workers;
  const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int extra = n - p;
  std::vector<int> hosts;  // of those that halve and double
  for (int v = 0; v < p; ++v)
    hosts.push_back(network.host_of(v < extra ? 2 * v + 1 : v + extra));
  std::vector<MessageLoad> loads;
  if (extra > 0) {
    Load load(network);
    for (int v = 0; v < extra; ++v)
      load.send(network.host_of(2 * v), network.host_of(2 * v + 1), 1);
    loads.push_back(load.busiest());
  }
  for (int d = p / 2; d >= 1; d /= 2) {
    Load load(network);
    const double part = static_cast<double>(d) / p;
    for (int v = 0; v < p; ++v)
      load.send(hosts[static_cast<size_t>(v)],
                hosts[static_cast<size_t>(v ^ d)], part);
    loads.push_back(load.busiest(part));
  }
  return loads;
}

// A host's link carries what its workers send to servers elsewhere and what its
// servers answer to workers elsewhere; what goes from a worker to a server of
// its host stays there.
MessageLoad beside_load(const Method& method, const Network& network) {
  struct Place {
    double workers = 0, servers = 0;
  };
  std::vector<Place> hosts(static_cast<size_t>(network.hosts));
  std::vector<Place> racks(static_cast<size_t>(network.racks));
  for (int i = 0; i < method.spare; ++i)
    ++hosts[static_cast<size_t>(network.host_of_server(i, method.spare))]
          .servers;
  const double n = network.workers;
  const double k = method.spare;
  MessageLoad busiest{.pushes = std::numeric_limits<double>::max()};
  const auto pushes_of = [&](const Place& place) {
    return place.workers * (k - place.servers) / k;
  };
  const auto add = [&](const Place& place, double& load, double& more) {
    const double pushes = pushes_of(place);
    const double answers = place.servers * (n - place.workers) / k;
    load = std::max(load, pushes + answers);
    more = std::max({more, pushes, answers});
  };
  for (int host = 0; host < network.hosts; ++host) {
    Place& here = hosts[static_cast<size_t>(host)];
    here.workers = network.workers_on(host);
    add(here, busiest.link, busiest.more_link);
    if (here.servers > 0) {
      busiest.senders =
          std::max(busiest.senders, network.workers - network.workers_on(host));
      busiest.pushes = std::min(busiest.pushes, pushes_of(here));
    }
    Place& rack = racks[static_cast<size_t>(network.rack_of(host))];
    rack.workers += here.workers;
    rack.servers += here.servers;
  }
  for (const Place& rack : racks)
    add(rack, busiest.uplink, busiest.more_uplink);
  return busiest;
}

}  // namespace

std::vector<MessageLoad> link_loads(const Method& method,
                                    const Network& network) {
  if (network.workers == 1) return {};
  if (method.beside) return {beside_load(method, network)};
  if (method.kind == MethodKind::kTree) return {tree_load(network)};
  if (method.kind == MethodKind::kButterfly) return butterfly_loads(network);
  return {};
}

std::vector<int> workers_in_racks(const Network& network) {
  std::vector<int> workers(static_cast<size_t>(network.racks));
  // As rack_of() has them.
  const auto first_host = [&](size_t rack) {
    const auto racks = static_cast<int64_t>(workers.size());
    const int64_t hosts = static_cast<int64_t>(rack) * network.hosts;
    return static_cast<int>((hosts + racks - 1) / racks);
  };
  for (size_t rack = 0; rack < workers.size(); ++rack)
    workers[rack] = network.workers_before(first_host(rack + 1)) -
                    network.workers_before(first_host(rack));
  return workers;
}

}  // namespace rondo
