#include "rondo/graph/partition/delay_recvs.h"

#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/partition/part_text.h"

namespace rondo {
namespace {

// The first letter of a node's name is its device. Every node runs one second,
// and a tensor travels `transfer` seconds.
class DelayRecvsTest : public testing::Test {
 protected:
  Value feed(const std::string& name) {
    return placeholder(g_, {.shape = {2}, .name = name});
  }
  Value neg(Value x, const std::string& name) {
    return make("Neg", {x}, {}, name);
  }
  Value add(Value x, Value y, const std::string& name) {
    return make("Add", {x, y}, {}, name);
  }
  // The control inputs of node `recv` in the part of /cpu:1.
  std::string delayed(const std::vector<Value>& feeds, Value fetch,
                      double transfer, const std::string& recv) {
    const Value fetches[] = {fetch};
    Subgraph whole = extract(g_, feeds, fetches, {});
    for (const auto& node : whole.graph->nodes())
      node->set_device(node->name()[0] == 'a' ? "/cpu:0" : "/cpu:1");
    auto parts = partition(whole);
    delay_recvs(parts, {.run_time =
                            [](const Node& node) {
                              return node.op().name == "Placeholder" ? 0.0
                                                                     : 1.0;
                            },
                        .transfer_time = [&](const TensorTransfer&,
                                             double) { return transfer; }});
    std::string names;
    for (const Node* before :
         parts[1].subgraph.graph->find(recv)->control_inputs())
      names += before->name();
    return names;
  }

  Graph g_;
};

TEST_F(DelayRecvsTest, UntilJustBeforeTheFirstUser) {
  Value x = feed("bx");
  Value a = neg(x, "a1");
  Value b = x;
  for (int i = 1; i <= 6; ++i) b = neg(b, fmt::format("b{}", i));
  const Value last = add(b, a, "b7");
  // b7 begins at 6; b4 ends at 4, so two seconds are enough and three are not.
  EXPECT_EQ(delayed({x}, last, 2, "a1/recv"), "b4");
  EXPECT_EQ(delayed({x}, last, 3, "a1/recv"), "b3");
  EXPECT_EQ(delayed({x}, last, 2.5, "a1/recv"), "b3");
}

TEST_F(DelayRecvsTest, NotWhereNothingTravels) {
  Value x = feed("bx");
  Value b = neg(neg(neg(x, "b1"), "b2"), "b3");
  EXPECT_EQ(delayed({x}, add(b, neg(x, "a1"), "b4"), 0, "a1/recv"), "");
}

TEST_F(DelayRecvsTest, NotWhereItIsWantedAtOnce) {
  Value x = feed("bx");
  EXPECT_EQ(delayed({x}, neg(neg(x, "a1"), "b1"), 1, "a1/recv"), "");
}

TEST_F(DelayRecvsTest, OnlyBehindWhatAllUsersWaitFor) {
  Value x = feed("bx");
  Value a = neg(x, "a1");
  Value common = neg(neg(x, "b0"), "b1");
  Value left = add(neg(neg(neg(common, "b2"), "b3"), "b4"), a, "b5");
  Value right = add(neg(neg(neg(common, "b6"), "b7"), "b8"), a, "b9");
  EXPECT_EQ(delayed({x}, add(left, right, "b10"), 1.5, "a1/recv"), "b1");
}

TEST_F(DelayRecvsTest, NotWhereTheTensorComesLateAnyway) {
  Value x = feed("bx");
  Value a = x;
  for (int i = 1; i <= 5; ++i) a = neg(a, fmt::format("a{}", i));
  Value b = neg(neg(neg(x, "b1"), "b2"), "b3");
  EXPECT_EQ(delayed({x}, add(b, a, "b4"), 1, "a5/recv"), "");
}

TEST_F(DelayRecvsTest, NeverBehindWhatMayBeDead) {
  Value x = feed("bx");
  Value yes =
      placeholder(g_, {.dtype = DType::kBool, .shape = {}, .name = "by"});
  Value a = neg(x, "a1");
  Node& both = g_.add({.op = "Switch", .inputs = {x, yes}, .name = "b0"});
  Value taken = both.output(1);
  for (int i = 1; i <= 5; ++i) taken = neg(taken, fmt::format("b{}", i));
  Value merged = make("Merge", {both.output(0), taken}, {}, "b6");
  EXPECT_EQ(delayed({x, yes}, add(merged, a, "b7"), 1, "a1/recv"), "");
}

}  // namespace
}  // namespace rondo
