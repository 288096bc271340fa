#include "rondo/graph/partition/copy_constants.h"

#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

TEST(CopyConstantsTest, EachDeviceGetsOne) {
  Graph g;
  const auto add = [&](std::string_view op, std::vector<Value> inputs,
                       const std::string& name, const std::string& device) {
    Node& node = g.add({.op = op, .inputs = std::move(inputs), .name = name});
    node.set_device(device);
    return node.output();
  };
  const Value c = constant(g, 3, DType::kF32);
  c.node->set_device("/cpu:0");
  const Value other = constant(g, 4, DType::kF32);
  other.node->set_device("/cpu:0");
  const Value here = add("Add", {c, other}, "here", "/cpu:0");
  const Value there = add("Add", {c, other}, "there", "/cpu:1");
  const Value too = add("Add", {there, c}, "too", "/cpu:1");
  const size_t before = g.nodes().size();
  copy_constants({c.node}, g);
  EXPECT_EQ(g.nodes().size(), before + 1);
  EXPECT_EQ(here.node->input(0), c);
  const Node* copy = there.node->input(0).node;
  EXPECT_NE(copy, c.node);
  EXPECT_EQ(copy->device(), "/cpu:1");
  EXPECT_EQ(copy->attrs().get<Tensor>("value").span<float>()[0], 3);
  EXPECT_EQ(too.node->input(1).node, copy) << "one for each device";
  EXPECT_EQ(there.node->input(1), other) << "is not one of those to copy";
}

}  // namespace
}  // namespace rondo
