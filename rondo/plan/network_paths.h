// NetworkPaths: the links of a network, and which of them a message takes.
// Internal to this folder.
#pragma once

#include "rondo/plan/network_simulator.h"
#include "rondo/plan/simulated_parts.h"

namespace rondo {

class NetworkPaths {
 public:
  NetworkPaths(const Network& network, const NetworkSimulation& options)
      : network_(network), options_(options) {}

  int ranks() const { return network_.workers + options_.spare; }
  int host_of(int rank) const;
  std::vector<SimulatedLink> links() const;
  // From one rank to another, with no messages and no streams yet.
  SimulatedChannel channel(int from, int to) const;

 private:
  int machines() const {
    return network_.hosts + (options_.beside ? 0 : options_.spare);
  }
  // The numbers of links: up and down of each machine, the memory of each rank,
  // up and down of racks.
  int up(int machine) const { return machine; }
  int down(int machine) const { return machines() + machine; }
  int memory(int rank) const { return 2 * machines() + rank; }
  int rack_up(int rack) const { return 2 * machines() + ranks() + rack; }
  int rack_down(int rack) const { return rack_up(network_.racks + rack); }
  // Those between two machines, behind the first.
  std::vector<int> between(int source, int target) const;

  const Network& network_;
  const NetworkSimulation& options_;
};

}  // namespace rondo
