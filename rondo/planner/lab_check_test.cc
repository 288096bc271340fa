#include "rondo/planner/lab_check.h"

#include <gtest/gtest.h>

#include <utility>

namespace rondo {
namespace {

// The hosts of ranks and of servers as a lab with this many hosts in its first
// rack chooses them (hosts_of_job of lab/job.py): by rack.
std::pair<std::vector<int>, std::vector<int>> racks_in_lab(int hosts, int spare,
                                                           int first) {
  int left[] = {first, hosts + spare - first};
  std::vector<int> servers;
  for (int i = 0; i < spare; ++i) {
    const int rack = left[i % 2] > 0 ? i % 2 : 1 - i % 2;
    --left[rack];
    servers.push_back(rack);
  }
  std::vector<int> ranks(static_cast<size_t>(left[0]), 0);
  ranks.insert(ranks.end(), static_cast<size_t>(left[1]), 1);
  return {ranks, servers};
}

TEST(LabCheck, RacksOfTheLabAreThoseOfTheNetwork) {
  for (int hosts = 2; hosts <= 9; ++hosts)
    for (int spare = 0; spare <= 9; ++spare) {
      SCOPED_TRACE(fmt::format("{} hosts, {} spare", hosts, spare));
      Network network;
      network.workers = network.hosts = hosts;
      network.racks = 2;
      const auto [ranks, servers] =
          racks_in_lab(hosts, spare, hosts_of_first_rack(network, spare));
      ASSERT_EQ(ranks.size(), static_cast<size_t>(hosts));
      for (int host = 0; host < hosts + spare; ++host)
        EXPECT_EQ(host < hosts ? ranks[static_cast<size_t>(host)]
                               : servers[static_cast<size_t>(host - hosts)],
                  network.rack_of(host))
            << host;
    }
}

TEST(LabCheck, ALabHasTheMemoryOfThisMachine) {
  Network network;
  network.local_rate = 300e9;
  network.memory_rate = 400e9;
  network.local_latency = 1e-6;
  network.link = 1e6;
  const Network lab = lab_network(network);
  EXPECT_EQ(lab.local_rate, Network().local_rate);
  EXPECT_EQ(lab.memory_rate, Network().memory_rate);
  EXPECT_EQ(lab.local_latency, Network().local_latency);
  EXPECT_EQ(lab.link, 1e6);
}

}  // namespace
}  // namespace rondo
