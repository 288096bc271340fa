#include "rondo/graph/placement/list_scheduler.h"

#include <gtest/gtest.h>

#include "rondo/graph/placement/busy_times.h"
#include "rondo/graph/placement/test_graph.h"

namespace rondo {
namespace {

TEST(BusyTimes, FindsTheFirstGapThatIsLongEnough) {
  BusyTimes times;
  EXPECT_EQ(times.earliest(3, 5), 3);
  times.book(2, 2);
  times.book(5, 1);
  EXPECT_EQ(times.earliest(0, 2), 0);
  EXPECT_EQ(times.earliest(0, 3), 6);
  EXPECT_EQ(times.earliest(3, 1), 4);
  times.book(4, 1);
  EXPECT_EQ(times.earliest(3, 1), 6);
  times.book(0, 1);
  EXPECT_EQ(times.earliest(0, 1), 1);
}

// Without a search: what the scheduler itself makes of it.
Placement first_of(TimedGraph& t, DeviceLink link) {
  auto request = t.request(2, link);
  request.budget.evaluations = 0;
  return place(t.g, request).value();
}

// A chain, and beside each of its nodes one of the same length that only the
// end waits for, as the gradients of weights: these are of low priority, and
// fill the other device from the start.
TEST(ListScheduler, WhatIsLessUrgentFillsTheGaps) {
  TimedGraph t;
  Node* last = &t.add("source", {}, 1e-6, 8);
  std::vector<Node*> ends;
  for (int i = 0; i < 10; ++i) {
    ends.push_back(
        &t.add(fmt::format("side{}", i), {last}, (20 - i) * 1e-4, 8));
    last = &t.add(fmt::format("chain{}", i), {last}, 2e-3, 8);
  }
  ends.push_back(last);
  t.add("end", ends, 1e-6);
  const Placement placed = first_of(t, {.latency = 1e-6, .bytes_per_s = 1e10});
  EXPECT_LT(placed.step_seconds, 10 * 2e-3 * 1.05);
}

// Each of two branches has a variable, which goes along.
TEST(ListScheduler, VariablesFollowWhatUsesThem) {
  TimedGraph t;
  Node& a = t.add("a", {}, 1e-6, 1e8);
  Node& b = t.add("b", {}, 1e-6, 1e8);
  Node& left = t.add("left", {&a}, 1e-2, 8);
  Node& right = t.add("right", {&b}, 1e-2, 8);
  const Placement placed = first_of(t, {.latency = 1e-6, .bytes_per_s = 1e9});
  EXPECT_EQ(placed.device_of(a), placed.device_of(left));
  EXPECT_EQ(placed.device_of(b), placed.device_of(right));
  EXPECT_NE(placed.device_of(left), placed.device_of(right));
  EXPECT_EQ(placed.nodes[static_cast<size_t>(a.id())].why,
            "follows its first user");
}

}  // namespace
}  // namespace rondo
