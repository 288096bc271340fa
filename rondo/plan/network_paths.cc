#include "rondo/plan/network_paths.h"

#include <algorithm>

namespace rondo {

int NetworkPaths::host_of(int rank) const {
  if (rank < network_.workers) return network_.host_of(rank);
  const int spare = rank - network_.workers;
  return options_.beside ? network_.host_of_server(spare, options_.spare)
                         : network_.hosts + spare;
}

std::vector<SimulatedLink> NetworkPaths::links() const {
  std::vector<SimulatedLink> made;
  const auto add = [&](int count, double rate, double burst) {
    for (int i = 0; i < count; ++i)
      made.push_back(
          {.rate = rate, .burst = burst, .burst_rate = network_.burst_rate});
  };
  add(2 * machines(), network_.link, network_.burst);
  add(ranks(), network_.local_rate, 0);
  if (network_.has_uplinks())
    add(2 * network_.racks, network_.uplink, network_.burst);
  return made;
}

std::vector<int> NetworkPaths::between(int source, int target) const {
  std::vector<int> path;
  const int a = network_.rack_of(source), b = network_.rack_of(target);
  if (network_.has_uplinks() && a != b) path = {rack_up(a), rack_down(b)};
  path.push_back(down(target));
  return path;
}

SimulatedChannel NetworkPaths::channel(int from, int to) const {
  SimulatedChannel made;
  const int source = host_of(from), target = host_of(to);
  if (source == target) {
    made.link = memory(from);
    made.latency = network_.local_latency;
    return made;
  }
  made.link = up(source);
  made.latency = network_.latency;
  made.others = between(source, target);
  made.back = between(target, source);
  made.back.insert(made.back.begin(), up(target));
  const double thinnest = made.others.size() > 1
                              ? std::min(network_.link, network_.uplink)
                              : network_.link;
  made.acknowledgement = network_.burst * thinnest < network_.segment
                             ? network_.acknowledgement
                             : network_.segment_acknowledgement;
  if (network_.queued > 0)
    made.queued = std::max(
        network_.queued, network_.queued_seconds * thinnest + network_.segment);
  return made;
}

}  // namespace rondo
