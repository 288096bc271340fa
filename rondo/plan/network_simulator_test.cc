// How messages share links, by plans that are made for it.
#include "rondo/plan/network_simulator.h"

#include <gtest/gtest.h>

#include "rondo/plan/method_plans.h"

namespace rondo {
namespace {

constexpr int64_t kMega = 1 << 20;

// Messages that begin at one time, each from one rank to another.
struct Message {
  int from;
  int to;
  int64_t bytes;
};
SimulatedOperation messages(int ranks, const std::vector<Message>& list,
                            double ready = 0) {
  SimulatedOperation made;
  made.plans.resize(static_cast<size_t>(ranks));
  made.ready.assign(static_cast<size_t>(ranks), ready);
  made.element_bytes = 1;
  for (const Message& one : list) {
    const Range range{Buffer::kOutput, 0, one.bytes};
    made.plans[static_cast<size_t>(one.from)].send(one.to, range, 0);
    made.plans[static_cast<size_t>(one.to)].recv(one.from, range, 0);
  }
  return made;
}

// By operation: the second at which rank `at` has all of its messages.
std::vector<double> ends(const Network& network,
                         const std::vector<SimulatedOperation>& operations,
                         size_t at) {
  auto all =
      simulate_network(network, operations, {.in_order = false, .pieces = 8});
  std::vector<double> found;
  for (const std::vector<double>& by_rank : all.value())
    found.push_back(by_rank[at]);
  return found;
}

Network hosts(int count) {
  return {.workers = count, .hosts = count, .link = 1e8, .latency = 0};
}

// Two hosts in each of two racks, whose uplinks carry a tenth of a host's link.
Network two_racks() {
  Network network = hosts(4);
  network.racks = 2;
  network.uplink = 1e7;
  return network;
}

TEST(NetworkSimulator, AWindowBoundsWhatALongWayCarries) {
  Network network = hosts(2);
  network.latency = 0.01;
  const auto one = messages(2, {{0, 1, 8 * kMega}});
  EXPECT_NEAR(ends(network, {one}, 1)[0], 8 * kMega / 1e8 + 0.01, 1e-4);
  // Two sockets, and there and back takes 20 ms: 16 times at least, and more
  // since they are not filled up at once.
  network.window = 256 << 10;
  const double bound = ends(network, {one}, 1)[0];
  EXPECT_GT(bound, 16 * 0.02 - 0.02);
  EXPECT_LT(bound, 24 * 0.02);
}

TEST(NetworkSimulator, AMessageIsNotBehindAllOfAnother) {
  Network network = two_racks();
  const std::vector<SimulatedOperation> both = {
      messages(4, {{0, 2, 10 * kMega}}),
      messages(4, {{0, 3, kMega}}, 0.2),
  };
  // Ten times as fast as the uplink, the first would be in its queue by then.
  EXPECT_GT(ends(network, both, 3)[1], 1);
  network.window = 256 << 10;
  EXPECT_LT(ends(network, both, 3)[1], 0.5);
}

TEST(NetworkSimulator, WhatComesThroughAThinLinkKeepsNobodyWaiting) {
  Network network = two_racks();
  // Rank 3 gets from the other rack and from its own.
  const std::vector<SimulatedOperation> both = {
      messages(4, {{0, 3, 10 * kMega}}),
      messages(4, {{2, 3, kMega}}),
  };
  EXPECT_LT(ends(network, both, 3)[1], 0.03);
}

TEST(NetworkSimulator, AcknowledgementsWaitInQueues) {
  Network network = hosts(6);
  network.window = 256 << 10;
  const auto one = messages(6, {{0, 1, 10 * kMega}});
  EXPECT_NEAR(ends(network, {one}, 1)[0], 10 * kMega / 1e8, 0.01);
  // Four others have 2 MiB on their way to rank 0, four times as much as it has
  // to rank 1.
  const auto all = messages(6, {{0, 1, 10 * kMega},
                                {2, 0, 20 * kMega},
                                {3, 0, 20 * kMega},
                                {4, 0, 20 * kMega},
                                {5, 0, 20 * kMega}});
  EXPECT_NEAR(ends(network, {all}, 1)[0], 4 * 10 * kMega / 1e8, 0.1);
}

TEST(NetworkSimulator, BlocksTakeSocketsInTurn) {
  Network network = hosts(2);
  // Of three blocks, the second socket has one.
  const auto three = messages(2, {{0, 1, 768 << 10}});
  EXPECT_NEAR(ends(network, {three}, 1)[0], (768 << 10) / 1e8, 1e-6);
  network.latency = 0.01;
  network.window = 128 << 10;
  // Of the first socket's two, half a block is on its way at once.
  EXPECT_NEAR(ends(network, {three}, 1)[0], 3 * 0.02 + 0.01, 0.01);
}

TEST(NetworkSimulator, AcknowledgementsTakeTheirBytes) {
  Network network = hosts(2);
  network.window = 256 << 10;
  network.acknowledgement = 0.1;
  const double alone = 10 * kMega / 1e8;
  const auto one = messages(2, {{0, 1, 10 * kMega}});
  EXPECT_NEAR(ends(network, {one}, 1)[0], alone, 0.02 * alone);
  const auto both = messages(2, {{0, 1, 10 * kMega}, {1, 0, 10 * kMega}});
  EXPECT_NEAR(ends(network, {both}, 1)[0], 1.1 * alone, 0.03 * alone);
}

TEST(NetworkSimulator, WhatWaitsInASocketIsNotInTheQueue) {
  Network network = hosts(3);
  network.window = 4 * kMega;
  const auto both = messages(3, {{0, 1, 4 * kMega}, {0, 2, 64 << 10}});
  EXPECT_GT(ends(network, {both}, 2)[0], 4 * kMega / 1e8);
  network.queued = 128 << 10;
  EXPECT_LT(ends(network, {both}, 2)[0], kMega / 1e8);
}

TEST(NetworkSimulator, ASocketBeginsSlowlyAfterAPause) {
  Network network = hosts(2);
  network.latency = 0.05;
  network.window = kMega;
  const auto second = [&](double ready) {
    return ends(network,
                {messages(2, {{0, 1, kMega}}),
                 messages(2, {{0, 1, kMega}}, ready)},
                1)[1] -
           ready;
  };
  // Shorter than a time-out, and many of them.
  EXPECT_NEAR(second(0.15), kMega / 1e8 + 0.05, 0.01);
  EXPECT_GT(second(10), 0.3);
}

TEST(NetworkSimulator, WhatHoldsIsOverBeforeOthersBegin) {
  const Network network = hosts(3);
  const double one = kMega / 1e8;
  auto first = messages(3, {{0, 1, kMega}});
  auto apart = messages(3, {{0, 2, kMega}});
  const auto in_order = messages(3, {{0, 1, kMega}});
  apart.apart = true;
  // The sockets of a link take turns.
  EXPECT_GT(ends(network, {first, apart, in_order}, 1)[0], 1.5 * one);
  first.holds = true;
  EXPECT_NEAR(ends(network, {first, apart, in_order}, 1)[0], one, 0.1 * one);
  EXPECT_NEAR(ends(network, {first, apart, in_order}, 2)[1], 3 * one,
              0.3 * one);
}

TEST(NetworkSimulator, ABurstTakesTime) {
  Network network = hosts(2);
  network.burst = 0.1;
  // Behind a pause, in which the shaper has got ready for it.
  const auto one = messages(2, {{0, 1, kMega}}, 1);
  for (const double rate : {1e9, 2e9}) {
    network.burst_rate = rate;
    EXPECT_NEAR(ends(network, {one}, 1)[0] - 1, kMega / rate,
                0.3 * kMega / rate);
  }
}

// That of earlier parts is hidden behind what still comes.
TEST(NetworkSimulator, AServerTakesItsTimeForAPart) {
  Network network = hosts(2);
  network.part = kMega;
  const Method method{.kind = MethodKind::kServers, .spare = 1};
  const auto seconds = [&](double parts) {
    SimulatedOperation pushed;
    const auto count = static_cast<int64_t>(parts * kMega / 4);
    pushed.plans = reduction_plans(method, network, count, {});
    pushed.ready.assign(pushed.plans.size(), 0);
    const std::vector<SimulatedOperation> all = {pushed};
    return simulate_network(network, all, {.spare = 1, .in_order = false})
        .value()[0][0];
  };
  const double one = seconds(1), four = seconds(4);
  network.server_rate = 1e9;
  EXPECT_NEAR(seconds(1), one + kMega / 1e9, 1e-6);
  EXPECT_NEAR(seconds(4), four + kMega / 1e9, 1e-6);
  // A short one comes behind those before it, also when these take longer.
  network.server_rate = 1e7;
  EXPECT_NEAR(seconds(2.25), seconds(1) + 1.25 * kMega / 1e7, 0.02);
}

}  // namespace
}  // namespace rondo
