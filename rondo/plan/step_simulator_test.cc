#include "rondo/plan/step_simulator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rondo/plan/closed_forms.h"
#include "rondo/plan/exchange_cost.h"

namespace rondo {
namespace {

constexpr Method kRing{.kind = MethodKind::kRing};

// Of D bytes that are ready at once, at the end of the computation: nothing
// hides.
Workload lump(double bytes, double seconds) {
  Workload workload;
  workload.parameters = bytes / 4;
  workload.step_seconds = seconds;
  workload.buckets = {{.bytes = bytes, .ready = 1}};
  workload.keys = workload.buckets;
  return workload;
}

Network four_hosts() {
  return {.workers = 4, .hosts = 4, .link = 125e6, .latency = 0};
}

TEST(StepSimulator, WithoutOverlapIsTheClosedForm) {
  const auto times =
      simulate_step(kRing, four_hosts(), lump(553.36e6, 0.55)).value();
  EXPECT_TRUE(times.by_messages);
  EXPECT_NEAR(times.step, 7.19, 0.01);
  EXPECT_NEAR(times.exposed, ring_seconds(553.36e6, 4, 125e6), 0.01);
  EXPECT_NEAR(times.hidden(), 0, 0.01);
}

TEST(StepSimulator, WhatIsReadyEarlierHides) {
  // Half a second of communication, ready when half of a step is over.
  Workload workload = lump(125e6 / 3, 1);
  workload.buckets[0].ready = 0.5;
  const auto times = simulate_step(kRing, four_hosts(), workload).value();
  EXPECT_NEAR(times.communication, 0.5, 0.01);
  EXPECT_NEAR(times.exposed, 0, 0.01);
  EXPECT_NEAR(times.hidden(), 0.5, 0.01);
  workload.buckets[0].ready = 0.8;
  EXPECT_NEAR(simulate_step(kRing, four_hosts(), workload).value().exposed, 0.3,
              0.01);
}

// A difference of sums is not quite nothing.
TEST(StepSimulator, WhatIsExposedWhollyDoesNotHide) {
  EXPECT_EQ((StepTimes{.communication = 0.1 + 0.2, .exposed = 0.3, .step = 1})
                .hidden(),
            0);
}

TEST(StepSimulator, ExchangesWaitForTheOnesBefore) {
  Workload workload = lump(125e6 / 3, 1);
  workload.buckets = {{.bytes = 125e6 / 3, .ready = 0.9},
                      {.bytes = 125e6 / 3, .ready = 1}};
  EXPECT_NEAR(simulate_step(kRing, four_hosts(), workload).value().step, 1.9,
              0.01);
}

TEST(StepSimulator, OneSlowWorkerHoldsAllUp) {
  const auto times = simulate_step(kRing, four_hosts(), lump(125e6 / 3, 1),
                                   {.stragglers = {.slowest = 1.5}})
                         .value();
  EXPECT_NEAR(times.step, 2, 0.01);
  EXPECT_NEAR(times.waiting, 0.5, 0.01);
  EXPECT_NEAR(times.exposed, 0.5, 0.01);
}

// A gradient that is ready when 0.8 of the step are over, and half a second of
// communication: what it updates waits for it.
TEST(StepSimulator, UpdatesComeBehindTheirExchange) {
  Workload workload = lump(125e6 / 3, 1);
  workload.buckets[0].ready = 0.8;
  workload.buckets[0].update = 0.2;
  EXPECT_NEAR(simulate_step(kRing, four_hosts(), workload).value().step, 1.5,
              0.01);
  // Another one, that came before, does not.
  workload.buckets.insert(workload.buckets.begin(),
                          {.bytes = 4, .ready = 0.1, .update = 0.15});
  workload.buckets[1].update = 0.05;
  EXPECT_NEAR(simulate_step(kRing, four_hosts(), workload).value().step, 1.35,
              0.01);
}

// So do products of others' factors.
TEST(StepSimulator, FactorsAreMultipliedAsTheyCome) {
  Workload workload = lump(125e6 / 3, 1);
  workload.flop_rate = 1;
  workload.buckets = {{.bytes = 4, .ready = 0.1, .flops = 0.1},
                      {.bytes = 125e6 / 3, .ready = 1}};
  const auto times = simulate_step(kRing, four_hosts(), workload).value();
  EXPECT_NEAR(times.computation, 1.3, 1e-9);
  EXPECT_NEAR(times.step, 1.5, 0.01);
}

TEST(StepSimulator, TheEndOfAStepFollowsWhatComesLast) {
  EXPECT_DOUBLE_EQ(end_of_step(1, {}), 1);
  EXPECT_DOUBLE_EQ(end_of_step(1, {{3, 0.5}, {0.2, 0.25}}), 3.5);
  EXPECT_DOUBLE_EQ(end_of_step(1, {{1.1, 0.5}, {0.2, 0.25}}), 1.75);
}

TEST(StepSimulator, JitterIsTheSameEveryTime) {
  const Stragglers stragglers{.jitter = 0.1};
  const auto slow = slowness(64, stragglers);
  EXPECT_EQ(slow, slowness(64, stragglers));
  EXPECT_GE(std::ranges::min(slow), 1);
  EXPECT_GT(std::ranges::max(slow), 1.1);
}

TEST(StepSimulator, HostsShareTheirLinks) {
  // Four workers on a host all send to those of the other.
  Network network{.workers = 8, .hosts = 2, .link = 125e6, .latency = 0};
  const Method butterfly{.kind = MethodKind::kButterfly};
  const double shared =
      simulate_step(butterfly, network, lump(8e6, 1)).value().exposed;
  network.hosts = 8;
  const double own =
      simulate_step(butterfly, network, lump(8e6, 1)).value().exposed;
  EXPECT_GT(shared, 2 * own);
}

TEST(StepSimulator, TwoRacksAreBoundByTheirUplink) {
  Network network{.workers = 8,
                  .hosts = 8,
                  .link = 125e6,
                  .latency = 0,
                  .racks = 2,
                  .uplink = 25e6};
  const auto ring = simulate_step(kRing, network, lump(80e6, 1)).value();
  EXPECT_NEAR(ring.communication, ring_seconds(80e6, 8, 25e6), 0.05);
}

TEST(StepSimulator, ServersWithTheirLinks) {
  for (const int servers : {1, 2, 4}) {
    const Method method{.kind = MethodKind::kServers, .spare = servers};
    Workload workload = lump(400e6, 1);
    workload.keys.assign(100, {.bytes = 4e6, .ready = 1});
    const auto times = simulate_step(method, four_hosts(), workload).value();
    const double bound = 400e6 * 4 / servers / 125e6;
    EXPECT_NEAR(times.communication, bound, 0.05 * bound) << servers;
  }
}

TEST(StepSimulator, HalfTheBytesTakeHalfTheTime) {
  const auto whole = simulate_step(kRing, four_hosts(), lump(80e6, 1)).value();
  Method method = kRing;
  method.bf16 = true;
  const auto half = simulate_step(method, four_hosts(), lump(80e6, 1)).value();
  EXPECT_NEAR(half.communication, whole.communication / 2, 0.01);
}

TEST(StepSimulator, HeadersTakeTheirShareOfALink) {
  Network network = four_hosts();
  const auto bare = simulate_step(kRing, network, lump(80e6, 1)).value();
  network.payload = 0.8;
  const auto times = simulate_step(kRing, network, lump(80e6, 1)).value();
  EXPECT_NEAR(times.communication, bare.communication / 0.8, 1e-6);
}

TEST(StepSimulator, AShaperLetsABurstThrough) {
  Network network{.workers = 2, .hosts = 2, .link = 1e6, .latency = 0};
  const auto whole = simulate_step(kRing, network, lump(1e6, 1)).value();
  network.burst = 0.1;
  const auto ahead = simulate_step(kRing, network, lump(1e6, 1)).value();
  EXPECT_NEAR(whole.exposed - ahead.exposed, 0.1, 0.01);
  // One step after another, without a pause between them.
  EXPECT_NEAR(whole.communication, ahead.communication, 1e-6);
  // A pause as long as the burst fills it again.
  Workload twice = lump(1e6, 2);
  twice.buckets = {{.bytes = 1e5, .ready = 0.5}, {.bytes = 1e5, .ready = 1}};
  EXPECT_NEAR(simulate_step(kRing, network, twice).value().exposed, 0, 0.001);
}

TEST(StepSimulator, AServerMayGetMoreThanTheOthers) {
  const Method method{.kind = MethodKind::kServers, .spare = 2};
  Workload workload = lump(100e6, 1);
  workload.keys.assign(25, {.bytes = 4e6, .ready = 1});
  const double even =
      simulate_step(method, four_hosts(), workload).value().communication;
  workload.keys_for = [&](int servers) {
    EXPECT_EQ(servers, 2);
    auto keys = workload.keys;
    for (PlannedExchange& key : keys) key.by_server = {1, 0};
    return keys;
  };
  EXPECT_NEAR(
      simulate_step(method, four_hosts(), workload).value().communication,
      2 * even, 0.05 * even);
}

Workload of_rows(double rows, double table_rows) {
  Workload workload = lump(0, 1);
  workload.keys.assign(10, {.bytes = 2e6,
                            .ready = 1,
                            .gather = true,
                            .rows = rows,
                            .table_rows = table_rows,
                            .index_bytes = 8});
  workload.buckets = workload.keys;
  return workload;
}

// Rows of a table: each server gets its part of each worker's, and gives that
// of all back to all; but no more than the table has.
TEST(StepSimulator, ServersGiveBackRowsOfAllWorkers) {
  for (const auto& [table_rows, times] :
       {std::pair{1e6, 4.0}, {2500.0, 2.5}, {100.0, 0.1}}) {
    const Workload workload = of_rows(1000, table_rows);
    for (const int servers : {1, 2, 4})
      for (const bool beside : {false, true}) {
        const Method method{
            .kind = MethodKind::kServers, .spare = servers, .beside = beside};
        const double bytes = 20e6, more = std::max(1.0, times);
        // A server's link carries that of all; beside a worker also what that
        // pushes and gets, but neither of itself.
        const double link =
            beside ? (3 * more + (servers - 1) * std::min(1.0, times)) * bytes /
                         servers
                   : 4 * more * bytes / servers;
        const double expected = link / four_hosts().link;
        const StepTimes simulated =
            simulate_step(method, four_hosts(), workload).value();
        ASSERT_TRUE(simulated.by_messages);
        EXPECT_NEAR(simulated.communication, expected, 0.15 * expected)
            << method.name() << ", " << table_rows << " rows";
        const ExchangeCosts costs(method, four_hosts());
        EXPECT_NEAR(costs.at_once(workload.keys), expected, 0.15 * expected)
            << method.name() << ", " << table_rows << " rows";
        EXPECT_EQ(costs.of(workload.keys[0]).worker_bytes, 2e6);
      }
  }
}

// A server answers when it has all rows of all workers, however many.
TEST(StepSimulator, RowsAreOnePart) {
  Workload workload = lump(0, 1);
  workload.keys = {{.bytes = 40e6,
                    .ready = 1,
                    .gather = true,
                    .rows = 1e5,
                    .table_rows = 2e5,
                    .index_bytes = 8}};
  for (const int servers : {1, 2}) {
    const Method method{.kind = MethodKind::kServers, .spare = servers};
    const double expected = (4 + 4 * 2) * 40e6 / servers / four_hosts().link;
    const double simulated =
        simulate_step(method, four_hosts(), workload).value().communication;
    EXPECT_NEAR(simulated, expected, 0.05 * expected) << method.name();
    const ExchangeCosts costs(method, four_hosts());
    EXPECT_NEAR(costs.at_once(workload.keys), expected, 0.05 * expected)
        << method.name();
  }
}

// How many there are, where, and what they hold go around one after another.
// The first two are small, and each of their steps takes a latency.
TEST(StepSimulator, RowsGoAroundInThreeRounds) {
  Network network = four_hosts();
  network.latency = 0.01;
  Workload workload = of_rows(1000, 1e6);
  workload.buckets.resize(1);
  const double expected = 2 * 3 * 0.01 + 3 * 2e6 / network.link + 0.01;
  EXPECT_NEAR(simulate_step(kRing, network, workload).value().communication,
              expected, 0.1 * expected);
  EXPECT_NEAR(ExchangeCosts(kRing, network).at_once(workload.buckets), expected,
              0.1 * expected);
}

// What goes from rack to rack, pushes and answers, is not the same both ways.
TEST(StepSimulator, RowsAndServersInRacks) {
  const Network network{.workers = 8,
                        .hosts = 8,
                        .link = 125e6,
                        .latency = 0,
                        .racks = 2,
                        .uplink = 25e6};
  const Workload workload = of_rows(1000, 1e6);
  for (const int servers : {1, 2, 4, 8})
    for (const bool beside : {false, true}) {
      const Method method{
          .kind = MethodKind::kServers, .spare = servers, .beside = beside};
      const double simulated =
          simulate_step(method, network, workload).value().communication;
      EXPECT_NEAR(ExchangeCosts(method, network).at_once(workload.keys),
                  simulated, 0.15 * simulated)
          << method.name();
    }
}

TEST(StepSimulator, RowsTravelInFullPrecision) {
  const Method half{.kind = MethodKind::kRing, .bf16 = true};
  const Workload workload = of_rows(1000, 1e6);
  const auto bytes = [&](const Method& method) {
    return ExchangeCosts(method, four_hosts())
        .of(workload.buckets[0])
        .worker_bytes;
  };
  EXPECT_EQ(bytes(half), bytes(kRing));
  const auto communication = [&](const Method& method) {
    return simulate_step(method, four_hosts(), workload).value().communication;
  };
  EXPECT_EQ(communication(half), communication(kRing));
}

TEST(StepSimulator, FactorsCostProducts) {
  Workload workload = lump(80e6, 1);
  workload.flop_rate = 1e9;
  workload.with_factors = [](int, const FactorTerms&) {
    return std::vector<PlannedExchange>{
        {.bytes = 1e6, .ready = 1, .gather = true, .flops = 1e8}};
  };
  Method method = kRing;
  method.factors = true;
  const auto times = simulate_step(method, four_hosts(), workload).value();
  EXPECT_NEAR(times.computation, 1.3, 1e-9);
  EXPECT_NEAR(times.communication, 3e6 / 125e6, 0.005);
  EXPECT_NEAR(times.step, 1.3 + 3e6 / 125e6, 0.005);
}

TEST(StepSimulator, ThousandsOfWorkers) {
  Workload workload = uniform_workload(25e6);
  workload.step_seconds = 0.1;
  for (const Method& method :
       methods_for({.workers = 4096, .hosts = 512, .link = 12.5e9})) {
    const Network network{.workers = 4096, .hosts = 512, .link = 12.5e9};
    const auto times =
        simulate_step(method, network, workload,
                      {.stragglers = {.slowest = 1.2, .jitter = 0.05}})
            .value();
    EXPECT_GE(times.step, 0.12) << method.name();
  }
}

TEST(StepSimulator, OneWorkerExchangesNothing) {
  const auto times = simulate_step(kRing, {}, lump(1e9, 0.5)).value();
  EXPECT_EQ(times.step, 0.5);
  EXPECT_EQ(times.communication, 0);
}

TEST(Workload, OfASizeAddsUp) {
  const Workload workload = uniform_workload(138.36e6);
  double bytes = 0;
  for (const PlannedExchange& bucket : workload.buckets) bytes += bucket.bytes;
  EXPECT_NEAR(bytes, 553.44e6, 1);
  EXPECT_EQ(workload.buckets.front().bytes, 1 << 20);
  EXPECT_EQ(workload.buckets.back().ready, 1);
}

}  // namespace
}  // namespace rondo
