#include "rondo/graph/placement/simulator.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

// Two devices of one thread; between them 10 bytes per second, half a second
// later. Each item is a group of its own.
struct Step {
  PlacementProblem problem;

  Step() {
    problem.devices = 2;
    problem.threads = {1, 1};
    problem.memory = {0, 0};
    const DeviceLink far{.latency = 0.5, .bytes_per_s = 10};
    problem.links = {{}, far, far, {}};
  }
  // An item that takes the tensors of `inputs` and gives one of `bytes`.
  int add(std::vector<int> inputs, double seconds, double bytes = 0) {
    const auto number = static_cast<int>(problem.items.size());
    PlacementProblem::Item item;
    item.group = number;
    item.seconds = {seconds, seconds};
    item.outs = {{.bytes = bytes, .users = {}}};
    item.first_out = number;
    for (const int input : inputs) {
      item.inputs.push_back({input, 0});
      problem.items[static_cast<size_t>(input)].outs[0].users.push_back(number);
    }
    problem.items.push_back(item);
    problem.groups.push_back(
        {.items = {number}, .devices = {0, 1}, .seconds = {seconds, seconds}});
    problem.outs = number + 1;
    return number;
  }
  Schedule run(const Assignment& assignment) {
    set_priorities(problem);
    return Simulator(problem).run(assignment);
  }
};

TEST(Simulator, AChainOnOneDeviceTakesTheSumOfItsTimes) {
  Step s;
  const int a = s.add({}, 1, 100);
  s.add({a}, 2);
  const Schedule schedule = s.run({0, 0});
  EXPECT_DOUBLE_EQ(schedule.seconds, 3);
  EXPECT_DOUBLE_EQ(schedule.start[1], 1);
  EXPECT_DOUBLE_EQ(schedule.busy[0], 3);
  EXPECT_EQ(schedule.links[1].tensors, 0);
}

TEST(Simulator, ATransferTakesItsBytesAndTheLatency) {
  Step s;
  const int a = s.add({}, 1, 10);
  s.add({a}, 2);
  const Schedule schedule = s.run({0, 1});
  EXPECT_DOUBLE_EQ(schedule.start[1], 1 + 1 + 0.5);
  EXPECT_DOUBLE_EQ(schedule.seconds, 4.5);
  EXPECT_DOUBLE_EQ(schedule.links[1].busy, 1);
  EXPECT_DOUBLE_EQ(schedule.links[1].bytes, 10);
}

TEST(Simulator, ATensorIsSentOnceToADevice) {
  Step s;
  const int a = s.add({}, 1, 10);
  s.add({a}, 1);
  s.add({a}, 1);
  const Schedule schedule = s.run({0, 1, 1});
  EXPECT_EQ(schedule.links[1].tensors, 1);
  // Both wait for the one transfer, then run one after the other.
  EXPECT_DOUBLE_EQ(schedule.seconds, 1 + 1.5 + 2);
}

TEST(Simulator, TensorsOfALinkFollowEachOtherAndTheirLatenciesOverlap) {
  Step s;
  s.problem.threads = {2, 1};
  const int a = s.add({}, 1, 10);
  const int b = s.add({}, 1, 10);
  s.add({a, b}, 1);
  const Schedule schedule = s.run({0, 0, 1});
  EXPECT_DOUBLE_EQ(schedule.start[2], 1 + 1 + 1 + 0.5);
  EXPECT_DOUBLE_EQ(schedule.seconds, 4.5);
}

TEST(Simulator, BothDirectionsOfALinkWorkAtOnce) {
  Step s;
  const int a = s.add({}, 1, 10);
  const int b = s.add({}, 1, 10);
  s.add({a}, 1);
  s.add({b}, 1);
  EXPECT_DOUBLE_EQ(s.run({0, 1, 1, 0}).seconds, 1 + 1.5 + 1);
}

TEST(Simulator, ADeviceRunsAsManyItemsAsItHasThreads) {
  Step s;
  for (int i = 0; i < 3; ++i) s.add({}, 1);
  EXPECT_DOUBLE_EQ(s.run({0, 0, 0}).seconds, 3);
  s.problem.threads = {2, 1};
  EXPECT_DOUBLE_EQ(s.run({0, 0, 0}).seconds, 2);
  EXPECT_DOUBLE_EQ(s.run({1, 1, 1}).seconds, 3);
}

TEST(Simulator, WhatHasTheLongerWayAheadGoesFirst) {
  Step s;
  const int short_one = s.add({}, 1);
  const int long_one = s.add({}, 1);
  s.add({long_one}, 5);
  const Schedule schedule = s.run({0, 0, 1});
  EXPECT_DOUBLE_EQ(schedule.start[static_cast<size_t>(long_one)], 0);
  EXPECT_DOUBLE_EQ(schedule.start[static_cast<size_t>(short_one)], 1);
  EXPECT_DOUBLE_EQ(schedule.seconds, 1 + 0.5 + 5);
}

TEST(Simulator, WhatEveryDeviceHasIsNotSent) {
  Step s;
  const int a = s.add({}, 1, 10);
  s.add({a}, 2);
  s.problem.items[0].copied = true;
  const Schedule schedule = s.run({0, 1});
  EXPECT_DOUBLE_EQ(schedule.seconds, 3);
  EXPECT_EQ(schedule.links[1].tensors, 0);
}

TEST(Simulator, AnAssignmentWithoutRoomIsWorseThanAnyOther) {
  Step s;
  s.add({}, 1);
  s.add({}, 1);
  s.problem.memory = {100, 0};
  s.problem.groups[0].state_bytes = s.problem.groups[1].state_bytes = 60;
  set_priorities(s.problem);
  Simulator simulator(s.problem);
  EXPECT_DOUBLE_EQ(simulator.score({0, 1}).seconds, 1);
  EXPECT_GT(simulator.score({0, 0}).seconds, 1e6);
  EXPECT_DOUBLE_EQ(simulator.score({1, 1}).seconds, 2);
}

// Runs must not see what earlier ones left.
TEST(Simulator, GivesTheSameAgain) {
  Step s;
  const int a = s.add({}, 1, 10);
  s.add({a}, 2);
  set_priorities(s.problem);
  Simulator simulator(s.problem);
  EXPECT_DOUBLE_EQ(simulator.score({0, 1}).seconds, 4.5);
  EXPECT_DOUBLE_EQ(simulator.score({0, 0}).seconds, 3);
  EXPECT_DOUBLE_EQ(simulator.score({0, 1}).seconds, 4.5);
}

// On two devices that slow each other by half.
TEST(Simulator, ItemsThatRunAtOnceTakeLonger) {
  Step s;
  s.problem.contention = {1.5};
  s.add({}, 2);
  s.add({}, 4);
  const Schedule apart = s.run({0, 1});
  // Both at once, then what is left of the second alone.
  EXPECT_DOUBLE_EQ(apart.end[0], 3);
  EXPECT_DOUBLE_EQ(apart.end[1], 5);
  EXPECT_DOUBLE_EQ(apart.busy[0], 3);
  EXPECT_DOUBLE_EQ(apart.busy[1], 5);
  const Schedule together = s.run({0, 0});
  EXPECT_DOUBLE_EQ(together.seconds, 6);
}

TEST(Simulator, AnItemThatBeginsLaterSlowsTheRest) {
  Step s;
  s.problem.contention = {2};
  s.add({}, 4);
  const int first = s.add({}, 1);
  s.add({first}, 1);
  const Schedule schedule = s.run({0, 1, 1});
  EXPECT_DOUBLE_EQ(schedule.end[1], 2);
  EXPECT_DOUBLE_EQ(schedule.end[2], 4);
  EXPECT_DOUBLE_EQ(schedule.end[0], 6);
}

TEST(Simulator, WhatTakesNoTimeSlowsNobody) {
  Step s;
  s.problem.contention = {2};
  s.add({}, 4);
  s.add({}, 0);
  EXPECT_EQ(s.run({0, 1}).seconds, 4);
}

TEST(Simulator, MoreThanWereMeasuredCountAsTheLast) {
  Step s;
  s.problem.threads = {2, 2};
  s.problem.contention = {1.5, 2};
  for (int i = 0; i < 4; ++i) s.add({}, 1);
  EXPECT_DOUBLE_EQ(s.run({0, 0, 1, 1}).seconds, 2);
}

}  // namespace
}  // namespace rondo
