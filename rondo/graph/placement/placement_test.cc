// What constrains a placement: devices asked for, kernels, what goes together.
#include "rondo/graph/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/gradients.h"
#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/optimizers.h"
#include "rondo/graph/placement/colocation.h"
#include "rondo/graph/placement/test_graph.h"

namespace rondo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPs0[] = "/job:ps/task:0/cpu:0";
constexpr char kPs1[] = "/job:ps/task:1/cpu:0";
constexpr char kWorker0[] = "/job:worker/task:0/cpu:0";
constexpr char kWorker0Gpu[] = "/job:worker/task:0/gpu:0";

PlacementRequest cluster() {
  PlacementRequest request;
  for (const char* name : {kPs0, kPs1, kWorker0, kWorker0Gpu})
    request.devices.push_back(device(name));
  return request;
}

std::string error_of(const Graph& g, const PlacementRequest& request) {
  const auto placed = place(g, request);
  return placed.ok() ? "no error" : placed.status().message();
}

TEST(Placement, ANodeIsWhereItAsksToBe) {
  Graph g;
  Value a, b, c;
  {
    const DeviceScope scope(g, kPs1);
    a = variable(g, zeros(g, {2}), {.name = "a"});
  }
  {
    const DeviceScope scope(g, "/job:worker/cpu:0");
    b = identity(a);
  }
  {
    const DeviceScope scope(g, "/gpu:0");
    c = add(b, b);
  }
  const Placement placed = place(g, cluster()).value();
  EXPECT_EQ(placed.device_of(*a.node), kPs1);
  EXPECT_EQ(placed.device_of(*b.node), kWorker0);
  EXPECT_EQ(placed.device_of(*c.node), kWorker0Gpu);
  EXPECT_EQ(placed.nodes[static_cast<size_t>(b.node->id())].why,
            "asked for: /job:worker/cpu:0");
}

TEST(Placement, WhoAsksForADeviceThatIsNotThereIsToldWhichThereAre) {
  Graph g;
  const DeviceScope scope(g, "/job:worker/task:7");
  g.add({.op = "Placeholder", .name = "x", .origin = "train.py:3"});
  PlacementRequest request;
  request.devices = cpus(2);
  EXPECT_EQ(error_of(g, request),
            "Placeholder \"x\" (train.py:3) asks for /job:worker/task:7, but "
            "there is no such device; there are: /job:localhost/task:0/cpu:0, "
            "/job:localhost/task:0/cpu:1. Ask for one of these, or allow soft "
            "placement");
}

// Nothing but MatMul runs on a gpu.
PlacementRequest with_kernels(bool soft = false) {
  PlacementRequest request = cluster();
  request.has_kernel = [](const Node& node, const DeviceInfo& d) {
    return d.name.type == "cpu" || node.op().name == "MatMul";
  };
  request.soft = soft;
  return request;
}

TEST(Placement, ADeviceWithoutAKernelIsNotChosen) {
  Graph g;
  const DeviceScope scope(g, "/job:worker");
  const Value x = placeholder(g);
  const Value y = add(x, x);
  const Placement placed = place(g, with_kernels()).value();
  EXPECT_EQ(placed.device_of(*y.node), kWorker0);
}

TEST(Placement, WhoAsksForADeviceWithoutAKernelIsToldWhichHaveOne) {
  Graph g;
  const DeviceScope scope(g, "/gpu:0");
  g.add({.op = "Placeholder", .name = "x"});
  EXPECT_EQ(
      error_of(g, with_kernels()),
      "Placeholder \"x\" asks for /gpu:0, which has no kernel for Placeholder; "
      "others have one: /job:ps/task:0/cpu:0, /job:ps/task:1/cpu:0, "
      "/job:worker/task:0/cpu:0. Ask for one of these, or allow soft "
      "placement");
  PlacementRequest none = cluster();
  none.has_kernel = [](const Node&, const DeviceInfo&) { return false; };
  EXPECT_THAT(error_of(g, none),
              HasSubstr("no device has a kernel for Placeholder \"x\""));
}

TEST(Placement, SoftPlacementStaysInTheTaskThatWasAskedForIfItCan) {
  Graph g;
  Value x, y;
  {
    const DeviceScope scope(g, kWorker0Gpu);
    x = placeholder(g, {.name = "x"});
  }
  {
    const DeviceScope scope(g, "/job:gone/task:3/cpu:0");
    y = placeholder(g, {.name = "y"});
  }
  const Placement placed = place(g, with_kernels(true)).value();
  EXPECT_EQ(placed.device_of(*x.node), kWorker0);
  EXPECT_THAT(
      placed.notes,
      Contains("Placeholder \"x\" asks for /job:worker/task:0/gpu:0, which has "
               "no kernel for Placeholder: soft placement allows "
               "/job:worker/task:0/cpu:0"));
  EXPECT_THAT(placed.notes,
              Contains(HasSubstr("\"y\" asks for /job:gone/task:3/cpu:0, but "
                                 "there is no such device")));
  EXPECT_THAT(explain(placed), HasSubstr("note: Placeholder \"x\" asks for"));
}

TEST(Placement, RequestsThatMakeNoSenseAreErrors) {
  Graph g;
  placeholder(g);
  PlacementRequest request;
  EXPECT_THAT(error_of(g, request), HasSubstr("there is no device"));
  request.devices = {device("/job:worker/task:0")};
  EXPECT_THAT(error_of(g, request), HasSubstr("needs a type and a number"));
  request.devices = {device(kPs0), device(kPs0)};
  EXPECT_THAT(error_of(g, request), HasSubstr("is there twice"));
  g.nodes()[0]->set_device("/nonsense");
  request.devices = {device(kPs0)};
  EXPECT_THAT(error_of(g, request),
              HasSubstr("Placeholder \"Placeholder\": \"/nonsense\" is not a"));
  Graph other;
  request.step = {placeholder(other).node};
  EXPECT_THAT(error_of(g, request), HasSubstr("not of the graph"));
}

// Variables, their slots and all that changes them, with a wish of each
// variable's own.
TEST(Placement, WhatUsesAVariableIsWithIt) {
  Graph g;
  Value w, v;
  {
    const DeviceScope scope(g, kPs1);
    w = variable(g, zeros(g, {4}), {.name = "w"});
  }
  {
    const DeviceScope scope(g, kPs0);
    v = variable(g, zeros(g, {4}), {.name = "v"});
  }
  {
    const DeviceScope scope(g, "/job:worker");
    Adam(AdamOptions{}).minimize(reduce_sum(mul(w, v)));
    assign_add(w, v);
    read_variable(v);
  }
  const Placement placed = place(g, cluster()).value();
  int of_w = 0, of_v = 0;
  for (const auto& node : g.nodes()) {
    const AttrValue* name = node->attrs().find("variable");
    if (!name) continue;
    const std::string& of = std::get<std::string>(*name);
    if (of == "w" || node->name().starts_with("w/Adam")) {
      ++of_w;
      EXPECT_EQ(placed.device_of(*node), kPs1) << node->name();
    }
    if (of == "v" || node->name().starts_with("v/Adam")) {
      ++of_v;
      EXPECT_EQ(placed.device_of(*node), kPs0) << node->name();
    }
  }
  // Assign, ApplyAdam, AssignAdd and the slots with their Assigns at least.
  EXPECT_GE(of_w, 5);
  EXPECT_GE(of_v, 5);
  const Node* change = g.find("AssignAdd");
  ASSERT_TRUE(change);
  EXPECT_EQ(placed.nodes[static_cast<size_t>(change->id())].why,
            "with \"w\": the same variable \"w\"");
  // They asked for the worker, and the variables for elsewhere.
  EXPECT_THAT(
      placed.notes,
      Contains(
          "AssignAdd \"AssignAdd\" asks for /job:worker, which does not count: "
          "it has to be on /job:ps/task:1/cpu:0, with Variable \"w\" (the same "
          "variable \"w\")"));
}

TEST(Placement, NodesThatHaveToBeTogetherAndCannotAreNamed) {
  Graph g;
  Node& a = [&]() -> Node& {
    const DeviceScope scope(g, kPs0);
    return g.add({.op = "Variable", .name = "a", .origin = "train.py:1"});
  }();
  Node& b = [&]() -> Node& {
    const ColocateScope beside(g, a);
    const DeviceScope scope(g, kPs1);
    return g.add({.op = "Variable", .name = "b", .origin = "train.py:2"});
  }();
  EXPECT_EQ(error_of(g, cluster()),
            "these nodes have to be on one device, and no device suits all:\n"
            "  Variable \"a\" (train.py:1) asks for /job:ps/task:0/cpu:0\n"
            "  Variable \"b\" (train.py:2) asks for /job:ps/task:1/cpu:0; it "
            "is with \"a\": colocate_with \"a\"\n"
            "Ask for the same device, for none, or allow soft placement");
  PlacementRequest soft = cluster();
  soft.soft = true;
  const Placement placed = place(g, soft).value();
  EXPECT_EQ(placed.device_of(a), kPs0);
  EXPECT_EQ(placed.device_of(b), kPs0);
  EXPECT_THAT(placed.notes,
              ElementsAre(HasSubstr("\"b\" (train.py:2) asks for "
                                    "/job:ps/task:1/cpu:0, which does not")));
}

TEST(Placement, NodesOfAGroupWithoutACommonKernelAreNamed) {
  Graph g;
  const Value w = variable(g, zeros(g, {2}), {.name = "w"});
  assign_add(w, w);
  PlacementRequest request = cluster();
  request.has_kernel = [](const Node& node, const DeviceInfo& d) {
    return (node.op().name == "AssignAdd") == (d.name.type == "gpu");
  };
  const std::string text = error_of(g, request);
  EXPECT_THAT(text, HasSubstr("no device suits all"));
  EXPECT_THAT(text, HasSubstr("Variable \"w\" has kernels on /job:ps/task:0"));
  EXPECT_THAT(text, HasSubstr("AssignAdd \"AssignAdd\" has kernels on "
                              "/job:worker/task:0/gpu:0; it is with \"w\""));
}

TEST(Placement, ColocatedNodesAreTogetherAndTakeTheDeviceAskedFor) {
  Graph g;
  Value a, b;
  {
    const DeviceScope scope(g, kPs1);
    a = placeholder(g, {.name = "a"});
  }
  {
    const DeviceScope scope(g, "/job:worker");
    const ColocateScope beside(g, *a.node);
    b = placeholder(g, {.name = "b"});
    EXPECT_EQ(g.device_scope(), kPs1);
  }
  const Value c = placeholder(g);
  EXPECT_THAT(b.node->colocated_with(), ElementsAre("a"));
  EXPECT_THAT(c.node->colocated_with(), IsEmpty());
  EXPECT_EQ(place(g, cluster()).value().device_of(*b.node), kPs1);
  // What is beside b is beside a, even in a graph without b.
  {
    const ColocateScope beside(g, *b.node);
    EXPECT_THAT(identity(a).node->colocated_with(), ElementsAre("a"));
  }
  Graph other;
  EXPECT_THROW(ColocateScope(other, *a.node), Error);
}

TEST(Placement, ColocationGoesThroughAFile) {
  Graph g;
  const Value a = placeholder(g, {.name = "a"});
  const ColocateScope beside(g, *a.node);
  placeholder(g, {.name = "b"});
  const auto again = from_graph_def(to_graph_def(g));
  EXPECT_THAT(again->find("b")->colocated_with(), ElementsAre("a"));
  EXPECT_THAT(again->find("a")->colocated_with(), IsEmpty());
}

TEST(Placement, NodesOfAQueueAreTogether) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32}, {.name = "q"});
  Node& in = [&]() -> Node& {
    const DeviceScope scope(g, kPs1);
    return queue.enqueue({constant(g, 1, DType::kF32)});
  }();
  const Value out = queue.dequeue()[0];
  const Value size = queue.size();
  const Placement placed = place(g, cluster()).value();
  for (const Node* node : {&in, out.node, size.node})
    EXPECT_EQ(placed.device_of(*node), kPs1) << node->name();
  EXPECT_EQ(placed.state.at("queue \"q\""), kPs1);
}

// A loop and the loop of its gradient, which reads what the first one keeps.
TEST(Placement, ALoopAndItsGradientAreOnOneDevice) {
  Graph g;
  Value start;
  {
    const DeviceScope scope(g, cpu(1));
    start = placeholder(g, {.shape = {1000, 1000}});
  }
  const Values left = while_loop(
      [&](const Values& v) {
        return make("Less", {v[0], constant(g, 9, DType::kF32)});
      },
      [&](const Values& v) {
        return Values{add(v[0], constant(g, 1, DType::kF32)), mul(v[1], v[1])};
      },
      {constant(g, 0, DType::kF32), start});
  const std::vector<Value> ys = {reduce_sum(left[1])}, xs = {start};
  const auto back = gradients(ys, xs);
  PlacementRequest request;
  request.devices = cpus(3);
  // Where only the way back is asked for, the way there is too.
  for (const auto& node : g.nodes())
    if (node->op().name == "StackRead") node->set_device(cpu(2));
  const Placement placed = place(g, request).value();
  int seen = 0;
  for (const auto& node : g.nodes())
    for (const char* op : {"Enter", "Exit", "Switch", "Merge", "NextIteration",
                           "StackWrite", "StackRead", "NewStack", "LoopCond"})
      if (node->op().name == op) {
        ++seen;
        EXPECT_EQ(placed.device_of(*node), cpu(2)) << node->name();
      }
  EXPECT_GT(seen, 20);
  ASSERT_TRUE(back[0]);
}

TEST(Placement, ASmallConstantIsBesideItsUserAndNotSent) {
  Graph g;
  const Value small = constant(g, 2, DType::kF32);
  const Value large = constant(g, Tensor::full({2000}, 0.0f), "large");
  Value a, b;
  {
    const DeviceScope scope(g, kPs1);
    a = add(small, large);
  }
  {
    const DeviceScope scope(g, kPs0);
    b = add(small, small);
  }
  EXPECT_TRUE(is_small_constant(*small.node));
  EXPECT_FALSE(is_small_constant(*large.node));
  const Placement placed = place(g, cluster()).value();
  EXPECT_EQ(placed.device_of(*small.node), kPs1);
  EXPECT_EQ(placed.device_of(*large.node), kPs1);
  EXPECT_EQ(placed.device_of(*b.node), kPs0);
  EXPECT_TRUE(placed.links.empty());
}

// As a restored checkpoint does it.
TEST(Placement, WhatSetsSeveralVariablesIsInTheirProcess) {
  Graph g;
  std::vector<Value> variables;
  const auto add_variable = [&](const std::string& on) {
    const DeviceScope scope(g, on);
    variables.push_back(variable(g, zeros(g, {2})));
  };
  add_variable("/job:worker/cpu:0");
  add_variable("/job:worker/gpu:0");
  Node& set = assign_all(variables, variables);
  EXPECT_EQ(place(g, cluster()).value().device_of(set), kWorker0);
  add_variable(kPs0);
  assign_all(variables, variables);
  EXPECT_THAT(error_of(g, cluster()),
              HasSubstr("sets variables at once that are in different "
                        "processes: it is on /job:worker/task:0/cpu:0, and "
                        "Variable \"Variable_2\" on /job:ps/task:0/cpu:0"));
}

TEST(Placement, NodesThatTheStepDoesNotRunCostNothing) {
  TimedGraph t;
  Node& a = t.add("a", {}, 1, 8);
  Node& b = t.add("b", {&a}, 2, 8);
  Node& save = t.add("save", {&a}, 100, 8);
  auto request = t.request(2, {});
  request.step = {&a, &b};
  const Placement placed = place(t.g, request).value();
  EXPECT_DOUBLE_EQ(placed.step_seconds, 3);
  EXPECT_EQ(placed.device_of(save), placed.device_of(a));
  EXPECT_EQ(placed.nodes[static_cast<size_t>(save.id())].why,
            "the step does not run it");
}

}  // namespace
}  // namespace rondo
