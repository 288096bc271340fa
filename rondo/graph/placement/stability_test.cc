// What stays where it is when a graph is placed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/placement/test_graph.h"

namespace rondo {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Two branches from two variables, joined at the end.
struct Branches : TimedGraph {
  Branches() {
    v = &add("v", {}, 1e-6, 1e3);
    w = &add("w", {}, 1e-6, 1e3);
    left = &add("left", {v}, 1e-2, 1e3);
    right = &add("right", {w}, 1e-2, 1e3);
    sum = &add("sum", {left, right}, 1e-6, 1e3);
  }
  PlacementRequest fast() {
    return request(2, {.latency = 1e-5, .bytes_per_s = 1e9});
  }
  Node *v, *w, *left, *right, *sum;
};

TEST(PlacementStability, VariablesStayAndOthersMove) {
  Branches t;
  const Placement first = place(t.g, t.fast()).value();
  EXPECT_NE(first.device_of(*t.v), first.device_of(*t.w));
  // What makes one device the better choice.
  for (const auto& node : t.g.nodes())
    for (int i = 0; i < 40; ++i)
      t.costs.record_run(node->name(), first.device_of(*t.w), 1e-7);
  auto request = t.fast();
  request.previous = &first;
  const Placement again = place(t.g, request).value();
  EXPECT_EQ(again.device_of(*t.v), first.device_of(*t.v));
  EXPECT_EQ(again.device_of(*t.left), first.device_of(*t.w));
  EXPECT_EQ(again.nodes[static_cast<size_t>(t.v->id())].why,
            "its state is there already");
  // Without it, all would go.
  request.previous = nullptr;
  const Placement fresh = place(t.g, request).value();
  EXPECT_EQ(fresh.device_of(*t.v), first.device_of(*t.w));
}

// Two equal devices: nothing but the old placement speaks for one of them.
TEST(PlacementStability, WhatIsAsGoodStays) {
  TimedGraph t;
  Node& a = t.add("a", {}, 1e-3, 1e6);
  Node& b = t.add("b", {&a}, 1e-3, 1e6);
  auto request = t.request(2, {.latency = 1, .bytes_per_s = 1e6});
  Placement before;
  before.nodes = {{"a", "", cpu(1), ""}, {"b", "", cpu(1), ""}};
  EXPECT_EQ(place(t.g, request).value().device_of(b), cpu(0));
  request.previous = &before;
  EXPECT_EQ(place(t.g, request).value().device_of(b), cpu(1));
}

// A session places each kind of step on its own; they share the variables.
TEST(PlacementStability, AnotherGraphWithTheSameVariableFindsIt) {
  Graph a;
  {
    const DeviceScope scope(a, cpu(1));
    a.add({.op = "Variable", .name = "w"});
  }
  PlacementRequest request;
  request.devices = cpus(2);
  const Placement first = place(a, request).value();
  Graph b;
  const Node& other = b.add({.op = "Variable", .name = "other"});
  const Node& read =
      b.add({.op = "Variable", .attrs = {{"variable", std::string("w")}}});
  request.previous = &first;
  const Placement second = place(b, request).value();
  EXPECT_EQ(second.device_of(read), cpu(1));
  EXPECT_EQ(second.device_of(other), cpu(0));
}

TEST(PlacementStability, RandomNodesStaySinceTheirRunsAreCounted) {
  Graph g;
  const Value x = [&] {
    const DeviceScope scope(g, cpu(1));
    return random_uniform(g, {4});
  }();
  PlacementRequest request;
  request.devices = cpus(2);
  const Placement first = place(g, request).value();
  x.node->set_device("");
  request.previous = &first;
  EXPECT_EQ(place(g, request).value().device_of(*x.node), cpu(1));
}

TEST(PlacementStability, StateOfADeviceThatIsGoneIsPlacedAnew) {
  Graph g;
  const Node& w = g.add({.op = "Variable", .name = "w"});
  Placement first;
  first.state["variable \"w\""] = cpu(7);
  PlacementRequest request;
  request.devices = cpus(2);
  request.previous = &first;
  const Placement placed = place(g, request).value();
  EXPECT_EQ(placed.device_of(w), cpu(0));
  EXPECT_THAT(placed.notes, Contains(HasSubstr("variable \"w\" was on")));
}

TEST(PlacementStability, StateThatIsThereWinsOverAWish) {
  Graph g;
  Node& w = g.add({.op = "Variable", .name = "w"});
  PlacementRequest request;
  request.devices = cpus(2);
  const Placement first = place(g, request).value();
  EXPECT_EQ(first.device_of(w), cpu(0));
  w.set_device(cpu(1));
  request.previous = &first;
  const Placement placed = place(g, request).value();
  EXPECT_EQ(placed.device_of(w), cpu(0));
  EXPECT_THAT(placed.notes, Contains(HasSubstr("its state is on")));
}

TEST(PlacementStability, PlacingAgainPaysOnceMeasurementsSaySo) {
  Branches t;
  // By estimates, nodes are cheap and stay together.
  auto request = t.fast();
  const CostModel estimates;
  request.costs = &estimates;
  const Placement first = place(t.g, request).value();
  EXPECT_EQ(first.device_of(*t.left), first.device_of(*t.right));

  const Replacement nothing_new = replace_pays(t.g, first, request).value();
  EXPECT_FALSE(nothing_new.pays);
  EXPECT_DOUBLE_EQ(nothing_new.old.step_seconds, first.step_seconds);

  request.costs = &t.costs;
  const Replacement better = replace_pays(t.g, first, request).value();
  EXPECT_TRUE(better.pays);
  EXPECT_NEAR(better.old.step_seconds, 2e-2, 1e-4);
  EXPECT_LT(better.placement.step_seconds, 1.1e-2);
  EXPECT_NE(better.placement.device_of(*t.left),
            better.placement.device_of(*t.right));
  // Variables have their values where they were.
  EXPECT_EQ(better.placement.device_of(*t.v), first.device_of(*t.v));
  EXPECT_EQ(better.placement.device_of(*t.w), first.device_of(*t.w));
  // A gain of half is less than wanted.
  EXPECT_FALSE(replace_pays(t.g, first, request, 0.6).value().pays);

  Graph other;
  EXPECT_FALSE(replace_pays(other, first, request).ok());
}

}  // namespace
}  // namespace rondo
