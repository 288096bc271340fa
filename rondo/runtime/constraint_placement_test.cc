#include "rondo/runtime/constraint_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

using testing::HasSubstr;

class ConstraintPlacementTest : public testing::Test {
 protected:
  // Where a node is in the step that fetches these, as "cpu:1".
  std::string place(const std::vector<Value>& fetches, std::string_view name) {
    Subgraph step = extract(g_, {}, fetches, {});
    placement_.place(g_, step).value();
    const std::string& device = step.graph->find(name)->device();
    return device.substr(device.rfind('/') + 1);
  }
  Value number(std::string_view name) {
    return g_
        .add({.op = "Const",
              .attrs = {{"value", Tensor::full(Shape{}, 1.0f)}},
              .name = std::string(name)})
        .output();
  }

  Graph g_;
  ConstraintPlacement placement_{{.devices = {"/job:localhost/task:0/cpu:0",
                                              "/job:localhost/task:0/cpu:1"}}};
};

TEST_F(ConstraintPlacementTest, WhatAsksForNothing) {
  Value a;
  {
    const DeviceScope device(g_, "/cpu:1");
    a = identity(number("source"), "a");
  }
  const Value b = make("Add", {number("c"), a}, {}, "b");
  EXPECT_EQ(place({b}, "a"), "cpu:1");
  EXPECT_EQ(place({b}, "b"), "cpu:1") << "goes where an input is";
  EXPECT_EQ(place({b}, "c"), "cpu:1") << "goes to who takes it";
  EXPECT_EQ(place({b, number("alone")}, "alone"), "cpu:0");
}

TEST_F(ConstraintPlacementTest, WhatIsToBeBesideANode) {
  Value a;
  {
    const DeviceScope device(g_, "/cpu:1");
    a = identity(number("source"), "a");
  }
  // Asks for nothing itself.
  const Value b = identity(a, "b");
  const Value v = variable(g_, b, {.name = "v"});
  const auto beside = [&](Value with, std::string_view name) {
    const ColocateScope scope(g_, *with.node);
    return make("Neg", {number(fmt::format("{}/x", name))}, {},
                std::string(name));
  };
  EXPECT_EQ(place({b, beside(b, "c")}, "c"), "cpu:1");
  const Value d = beside(b, "d"), e = beside(b, "e");
  EXPECT_EQ(place({d, e}, "d"), place({d, e}, "e")) << "without b too";
  // Where an earlier step has put the variable, which this one does not have.
  Subgraph set = extract(g_, {}, {}, std::vector<Node*>{&initializer(g_)});
  placement_.place(g_, set).value();
  EXPECT_EQ(place({beside(v, "f")}, "f"), place({v}, "v"));
  EXPECT_EQ(place({v}, "v"), "cpu:1");
}

TEST_F(ConstraintPlacementTest, WhatIsInTwoProcesses) {
  ConstraintPlacement two(
      {.devices = {"/job:ps/task:0/cpu:0", "/job:ps/task:0/cpu:1",
                   "/job:ps/task:1/cpu:0"}});
  const auto on = [&](const char* device, const char* name) {
    const DeviceScope scope(g_, device);
    return variable(g_, number("one"), {.name = name});
  };
  const Value a = on("/job:ps/task:0/cpu:0", "a");
  const Value b = on("/job:ps/task:0/cpu:1", "b");
  const Value c = on("/job:ps/task:1/cpu:0", "c");
  const auto set = [&](const std::vector<Value>& variables) {
    const std::vector<Value> ones(variables.size(), number("one"));
    const std::vector<Node*> targets = {&assign_all(variables, ones)};
    Subgraph step = extract(g_, {}, {}, targets);
    return two.place(g_, step);
  };
  EXPECT_TRUE(set({a, b}).ok());
  const Status status = set({a, c});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("AssignAll"));
  EXPECT_THAT(status.message(), HasSubstr("/job:ps/task:1"));
}

TEST_F(ConstraintPlacementTest, VariablesStayWhereTheyAre) {
  Value v;
  {
    const DeviceScope device(g_, "/cpu:1");
    v = variable(g_, number("one"), {.name = "v"});
  }
  Value set;
  {
    const DeviceScope device(g_, "/cpu:0");
    set = assign_add(v, number("two"));
  }
  // The node that says where the variable is, is not in this step.
  EXPECT_EQ(place({set}, set.node->name()), "cpu:1");
  const Value w = variable(g_, identity(number("three"), "i"), {.name = "w"});
  EXPECT_EQ(place({w}, "w"), "cpu:0");
  {
    const DeviceScope device(g_, "/cpu:1");
    set = assign(w, number("four"));
  }
  EXPECT_EQ(place({set}, set.node->name()), "cpu:0");
}

TEST_F(ConstraintPlacementTest, LoopsStayTogether) {
  const Value y =
      while_loop([&](const Values& v) { return less(v[0], number("limit")); },
                 [&](const Values& v) {
                   const DeviceScope device(g_, "/cpu:1");
                   return Values{make("Neg", {v[0]}, {}, "body")};
                 },
                 {number("start")})[0];
  EXPECT_EQ(place({y}, "while/body"), "cpu:1");
  EXPECT_EQ(place({y}, "while/Merge"), "cpu:1");
  EXPECT_EQ(place({y}, "while/Exit"), "cpu:1");
}

TEST_F(ConstraintPlacementTest, NamesWhatThereIs) {
  Value a;
  {
    const DeviceScope device(g_, "/gpu:0");
    a = number("a");
  }
  const Value fetches[] = {a};
  Subgraph step = extract(g_, {}, fetches, {});
  const Status status = placement_.place(g_, step);
  EXPECT_THAT(status.message(), HasSubstr("\"a\""));
  EXPECT_THAT(status.message(), HasSubstr("/gpu:0"));
  EXPECT_THAT(status.message(),
              HasSubstr("cpu:0, /job:localhost/task:0/cpu:1"));
  ConstraintPlacement soft(
      {.devices = {"/job:localhost/task:0/cpu:0"}, .soft = true});
  EXPECT_TRUE(soft.place(g_, step).ok());
}

}  // namespace
}  // namespace rondo
