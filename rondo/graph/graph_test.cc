#include "rondo/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/subgraph.h"

namespace rondo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

std::vector<std::string> names(const std::vector<Node*>& nodes) {
  std::vector<std::string> all;
  for (const Node* node : nodes) all.push_back(node->name());
  return all;
}

TEST(Graph, NamesAreUniqueAndScoped) {
  Graph g;
  Value a = placeholder(g, {.name = "x"});
  Value b = placeholder(g, {.name = "x"});
  EXPECT_EQ(a.name(), "x");
  EXPECT_EQ(b.name(), "x_1");
  {
    const NameScope outer(g, "layer");
    const NameScope inner(g, "deep");
    EXPECT_EQ(placeholder(g, {.name = "x"}).name(), "layer/deep/x");
  }
  const NameScope again(g, "layer");
  EXPECT_EQ(placeholder(g, {.name = "x"}).name(), "layer_1/x");
  EXPECT_EQ(g.value("x_1"), b);
  EXPECT_THAT(error_of([&] { g.value("nobody"); }), HasSubstr("no node"));
  EXPECT_THAT(error_of([&] { g.value("x:1"); }), HasSubstr("has 1 outputs"));
}

TEST(Graph, ScopesGiveDevicesAndOrder) {
  Graph g;
  Value first = placeholder(g, {.name = "first"});
  {
    const DeviceScope outer(g, "/job:ps/cpu:0");
    const DeviceScope inner(g, "/cpu:1");
    const ControlScope after(g, {first.node});
    Value x = constant(g, 1, DType::kF32);
    EXPECT_EQ(x.node->device(), "/job:ps/cpu:1");
    EXPECT_THAT(x.node->control_inputs(), ElementsAre(first.node));
    const ControlScope none(g, {}, true);
    EXPECT_TRUE(constant(g, 1, DType::kF32).node->control_inputs().empty());
  }
  EXPECT_EQ(constant(g, 1, DType::kF32).node->device(), "");
  EXPECT_THAT(error_of([&] { DeviceScope(g, "cpu"); }),
              HasSubstr("is not a device"));
}

TEST(Graph, WhatIsWrongIsSaidAtTheCall) {
  Graph g;
  Graph other;
  Value x = placeholder(g, {.shape = {2, 3}, .name = "x"});
  EXPECT_THAT(error_of([&] { reshape(x, {4}); }),
              HasSubstr("6 elements cannot be given the shape [4]"));
  EXPECT_THAT(error_of([&] {
                reshape(x, {-1, -1});
              }),
              HasSubstr("at most one -1"));
  EXPECT_THAT(error_of([&] { reshape(x, {4}); }), HasSubstr("f32[2, 3]"));
  EXPECT_THAT(error_of([&] { g.add({.op = "Nonsense"}); }),
              HasSubstr("no operation \"Nonsense\""));
  EXPECT_THAT(error_of([&] { g.add({.op = "Identity"}); }),
              HasSubstr("it takes 1 inputs, not 0"));
  EXPECT_THAT(error_of([&] { g.add({.op = "Const"}); }),
              HasSubstr("attribute \"value\" is missing"));
  EXPECT_THAT(error_of([&] {
                g.add({.op = "Cast",
                       .inputs = {x},
                       .attrs = {{"dtype", std::string("f32")}}});
              }),
              HasSubstr("is of kind string, expected type"));
  EXPECT_THAT(error_of([&] { other.add({.op = "Identity", .inputs = {x}}); }),
              HasSubstr("is of another graph"));
  EXPECT_THAT(error_of([&] {
                g.add({.op = "Fill",
                       .inputs = {x, x},
                       .name = "mine",
                       .origin = "train.py:12"});
              }),
              HasSubstr("Fill \"mine\" (train.py:12): input 0 (shape) has type "
                        "f32, expected i32 or i64"));
  // A call that failed left nothing behind.
  EXPECT_EQ(g.find("mine"), nullptr);
  EXPECT_EQ(reshape(x, {6}).name(), "Reshape");
}

TEST(Graph, InfersPartlyKnownShapes) {
  Graph g;
  Value x = placeholder(g, {.shape = {kAny, 4}});
  EXPECT_EQ(reshape(x, {-1, 2, 2}).shape(), (PartialShape{kAny, 2, 2}));
  EXPECT_EQ(reshape(x, shape_of(x)).shape(), (PartialShape{kAny, 4}));
  EXPECT_EQ(shape_of(x).shape(), (PartialShape{2}));
  Value unknown = placeholder(g);
  EXPECT_FALSE(reshape(x, shape_of(unknown)).shape().has_rank());
  EXPECT_EQ(reshape(placeholder(g, {.shape = {6, 4}}), {-1, 8}).shape(),
            (PartialShape{3, 8}));
}

TEST(Graph, ACloneIsTheSameGraph) {
  Graph g;
  Value v = variable(g, zeros(g, {2}), {.name = "v"});
  Value y = reshape(v, {1, 2});
  const auto copy = g.clone();
  EXPECT_EQ(copy->nodes().size(), g.nodes().size());
  const Value twin = copy->value(y.name());
  EXPECT_NE(twin.node, y.node);
  EXPECT_EQ(&twin.node->input(0).graph(), copy.get());
  EXPECT_EQ(copy->collection(kVariables).size(), 1);
}

TEST(Graph, CopiesShareWhatIsAttached) {
  Graph g;
  const auto what = std::make_shared<Attachment>();
  g.attach("data", what);
  EXPECT_EQ(g.clone()->attachment("data"), what);
  EXPECT_EQ(g.attachment("other"), nullptr);
  EXPECT_THAT(error_of([&] { g.attach("data", what); }),
              HasSubstr("attached to the graph as \"data\""));
}

TEST(Extract, TakesOnlyWhatIsNeeded) {
  Graph g;
  Value x = placeholder(g, {.name = "x"});
  Value a = identity(x, "a");
  Value b = identity(a, "b");
  identity(b, "unneeded");
  const Value fetch[] = {b};
  const Value feed[] = {a};
  const Subgraph part = extract(g, feed, fetch, {});
  EXPECT_THAT(names(ordered_nodes(part)), ElementsAre("feed/a", "b"));
  EXPECT_THAT(error_of([&] { extract(g, {}, fetch, {}); }),
              HasSubstr("Placeholder \"x\" must be fed"));
  const Value twice[] = {a, a};
  EXPECT_THAT(error_of([&] { extract(g, twice, fetch, {}); }),
              HasSubstr("\"a\" is fed twice"));
}

TEST(Extract, ACycleIsNamed) {
  Graph g;
  Value a = constant(g, 1, DType::kF32);
  Value b = identity(a, "b");
  Value c = identity(b, "c");
  b.node->set_input(0, c);
  const Value fetch[] = {c};
  EXPECT_THAT(error_of([&] { ordered_nodes(extract(g, {}, fetch, {})); }),
              HasSubstr("a cycle among: c, b"));
}

TEST(OrderChanges, AfterTheUsesOfTheOldValue) {
  Graph g;
  Value v = variable(g, zeros(g, {}), {.name = "v"});
  Value use = identity(v, "use");
  Value change = assign_add(v, use);
  Value later = identity(change, "later");
  const Value fetches[] = {later, identity(use, "other")};
  Subgraph part = extract(g, {}, fetches, {});
  order_changes(part);
  Node* changed = part.graph->find(change.node->name());
  EXPECT_THAT(names(changed->control_inputs()),
              UnorderedElementsAre("v", "use"));
  // Whoever uses the new value waits for it, and nothing waits in a circle.
  EXPECT_THAT(names(ordered_nodes(part)), Contains("later"));
  EXPECT_THAT(names(changed->control_inputs()), Not(Contains("later")));
}

TEST(OrderChanges, InTheOrderOfTheProgram) {
  Graph g;
  Value v = variable(g, zeros(g, {}), {.name = "v"});
  Value one = assign_add(v, constant(g, 1, DType::kF32));
  Value two = assign(v, constant(g, 5, DType::kF32));
  const Value fetches[] = {two, one};
  Subgraph part = extract(g, {}, fetches, {});
  order_changes(part);
  EXPECT_THAT(names(part.graph->find(two.node->name())->control_inputs()),
              ElementsAre(one.node->name()));
}

TEST(OrderChanges, NotAcrossAWait) {
  // The read waits for an element, which comes once the change has been made.
  Graph g;
  Value v = variable(g, zeros(g, {}), {.name = "v"});
  const FIFOQueue queue(g, {DType::kF32});
  const Value element = queue.dequeue()[0];
  Value read;
  {
    const ControlScope after(g, {element.node});
    read = read_variable(v);
  }
  Value change = assign_add(v, constant(g, 1, DType::kF32));
  Node& put = queue.enqueue({change});
  // One that waits for the element too comes after the read, as ever.
  Value last = assign_add(v, element);
  const Value fetches[] = {read, last};
  Node* const targets[] = {&put};
  Subgraph part = extract(g, {}, fetches, targets);
  order_changes(part);
  auto waits_for = [&](const Value& value) {
    return names(part.graph->find(value.node->name())->control_inputs());
  };
  EXPECT_THAT(waits_for(change), Not(Contains(read.node->name())));
  EXPECT_THAT(waits_for(last), Contains(read.node->name()));
  EXPECT_THAT(waits_for(last), Contains(change.node->name()));
}

TEST(OpRegistry, EveryOperationIsDocumented) {
  for (const OpDef* op : OpRegistry::process().all()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    for (const AttrSpec& attr : op->attrs)
      EXPECT_FALSE(attr.doc.empty()) << op->name << "." << attr.name;
  }
}

TEST(OpRegistry, NamesAreTakenOnce) {
  EXPECT_THAT(
      error_of([] {
        OpRegistry::process().add(
            {.name = "Const", .infer = [](InferContext&) { return Status(); }});
      }),
      HasSubstr("there is an operation \"Const\" already"));
}

TEST(Attrs, AreSortedAndTyped) {
  Attrs attrs{{"b", int64_t{2}}, {"a", Ints{1, 2}}};
  EXPECT_EQ(attrs.items()[0].first, "a");
  EXPECT_EQ(attrs.get<int64_t>("b"), 2);
  EXPECT_THROW(attrs.get<bool>("b"), Error);
  EXPECT_EQ(to_string(*attrs.find("a")), "[1, 2]");
  EXPECT_TRUE(attrs == (Attrs{{"a", Ints{1, 2}}, {"b", int64_t{2}}}));
  EXPECT_FALSE(attrs == (Attrs{{"a", Ints{1, 3}}, {"b", int64_t{2}}}));
}

}  // namespace
}  // namespace rondo
