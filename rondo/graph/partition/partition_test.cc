#include "rondo/graph/partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/transfer.h"
#include "rondo/graph/partition/part_text.h"

namespace rondo {
namespace {

using testing::HasSubstr;

// A graph in which the first letter of a node's name is its device: "a…" is on
// /cpu:0, "b…" on /cpu:1, "c…" on /cpu:2.
class PartitionTest : public testing::Test {
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
  Value number(const std::string& name) {
    Value value = constant(g_, 1, DType::kF32);
    Node& node =
        g_.add({.op = "Const", .attrs = value.node->attrs(), .name = name});
    return node.output();
  }

  Subgraph placed(const std::vector<Value>& feeds,
                  const std::vector<Value>& fetches,
                  const std::vector<Node*>& targets = {}) {
    Subgraph whole = extract(g_, feeds, fetches, targets);
    for (const auto& node : whole.graph->nodes())
      node->set_device(fmt::format("/cpu:{}", place_of(node->name())));
    return whole;
  }
  std::string cut(const Subgraph& whole, const PartitionOptions& options = {}) {
    return "\n" + to_text(partition(whole, options));
  }

  static int place_of(const std::string& name) {
    return name[0] >= 'a' && name[0] <= 'c' ? name[0] - 'a' : 0;
  }

  Graph g_;
};

TEST_F(PartitionTest, OneDeviceIsLeftWhole) {
  Value x = feed("ax");
  EXPECT_EQ(cut(placed({x}, {neg(neg(x, "a1"), "a2")})), R"(
/cpu:0
  feed/ax = Placeholder() feed 0
  a1 = Neg(feed/ax)
  a2 = Neg(a1)
  fetch 0: a2
)");
}

TEST_F(PartitionTest, ATensorIsSentOnceToEachDevice) {
  Value x = feed("ax");
  Value a = neg(x, "a1");
  Value b = add(neg(a, "b1"), a, "b2");
  Value c = neg(a, "c1");
  EXPECT_EQ(cut(placed({x}, {c, b})), R"(
/cpu:0
  feed/ax = Placeholder() feed 0
  a1 = Neg(feed/ax)
  a1/send = Send(a1) to /cpu:1
  a1/send_1 = Send(a1) to /cpu:2
/cpu:1
  a1/recv = Recv() from /cpu:0
  b1 = Neg(a1/recv)
  b2 = Add(b1, a1/recv)
  fetch 1: b2
/cpu:2
  a1/recv = Recv() from /cpu:0
  c1 = Neg(a1/recv)
  fetch 0: c1
)");
}

TEST_F(PartitionTest, ThereAndBack) {
  Value x = feed("ax");
  Value a = neg(x, "a1");
  Value b = neg(a, "b1");
  EXPECT_EQ(cut(placed({x}, {add(a, b, "a2")})), R"(
/cpu:0
  feed/ax = Placeholder() feed 0
  a1 = Neg(feed/ax)
  a1/send = Send(a1) to /cpu:1
  b1/recv = Recv() from /cpu:1
  a2 = Add(a1, b1/recv)
  fetch 0: a2
/cpu:1
  a1/recv = Recv() from /cpu:0
  b1 = Neg(a1/recv)
  b1/send = Send(b1) to /cpu:0
)");
}

TEST_F(PartitionTest, FeedsGoWhereTheyAreTaken) {
  Value x = feed("ax");
  Value y = feed("ay");
  Value b = add(x, y, "b1");
  Value c = neg(y, "c1");
  // Nobody takes z; it stays where its placeholder is.
  Value z = feed("az");
  EXPECT_EQ(cut(placed({z, x, y}, {b, z, c, y})), R"(
/cpu:0
  feed/az = Placeholder() feed 0
  fetch 1: feed/az
/cpu:1
  feed/ax = Placeholder() feed 1
  feed/ay = Placeholder() feed 2
  b1 = Add(feed/ax, feed/ay)
  fetch 0: b1
  fetch 3: feed/ay
/cpu:2
  feed/ay = Placeholder() feed 2
  c1 = Neg(feed/ay)
  fetch 2: c1
)");
}

TEST_F(PartitionTest, ControlEdgesAreCarriedAcross) {
  Value x = feed("ax");
  Value a = neg(x, "a1");
  Value b, c;
  {
    const ControlScope after(g_, {a.node});
    b = neg(x, "b1");
    c = neg(x, "b2");
  }
  EXPECT_EQ(cut(placed({x}, {c}, {b.node})), R"(
/cpu:0
  feed/ax = Placeholder() feed 0
  a1 = Neg(feed/ax)
  a1/done = Const(^a1)
  a1/done/send = Send(a1/done) to /cpu:1
/cpu:1
  feed/ax = Placeholder() feed 0
  a1/done/recv = Recv() from /cpu:0
  b1 = Neg(feed/ax, ^a1/done/recv)
  b2 = Neg(feed/ax, ^a1/done/recv)
  fetch 0: b2
)");
}

TEST_F(PartitionTest, SecondOutputsHaveNamesOfTheirOwn) {
  Value x = feed("ax");
  Value yes =
      placeholder(g_, {.dtype = DType::kBool, .shape = {}, .name = "y"});
  Node& both = g_.add({.op = "Switch", .inputs = {x, yes}, .name = "a1"});
  Value b = neg(both.output(0), "b1");
  Value c = neg(both.output(1), "b2");
  Value merged = make("Merge", {b, c}, {}, "b3");
  EXPECT_EQ(cut(placed({x, yes}, {merged})), R"(
/cpu:0
  feed/ax = Placeholder() feed 0
  feed/y = Placeholder() feed 1
  a1 = Switch(feed/ax, feed/y)
  a1/send = Send(a1) to /cpu:1
  a1_1/send = Send(a1:1) to /cpu:1
/cpu:1
  a1/recv = Recv() from /cpu:0
  b1 = Neg(a1/recv)
  a1_1/recv = Recv() from /cpu:0
  b2 = Neg(a1_1/recv)
  b3 = Merge(b1, b2)
  fetch 0: b3
)");
}

TEST_F(PartitionTest, NarrowsWhatCanBe) {
  Value x = feed("ax");
  Value n = placeholder(g_, {.dtype = DType::kI32, .shape = {2}, .name = "an"});
  Value a = neg(x, "a1");
  Value i = neg(n, "a2");
  EXPECT_EQ(cut(placed({x, n}, {neg(a, "b1"), neg(i, "b2")}), {.bf16 = true}),
            R"(
/cpu:0
  feed/ax = Placeholder() feed 0
  a1 = Neg(feed/ax)
  a1/send = Send(a1) to /cpu:1 as bf16
  feed/an = Placeholder() feed 1
  a2 = Neg(feed/an)
  a2/send = Send(a2) to /cpu:1
/cpu:1
  a1/recv = Recv() from /cpu:0 as bf16
  b1 = Neg(a1/recv)
  a2/recv = Recv() from /cpu:0
  b2 = Neg(a2/recv)
  fetch 0: b1
  fetch 1: b2
)");
}

TEST_F(PartitionTest, KnowsShapesAndTypesOnBothSides) {
  Value x = feed("ax");
  Value b = neg(neg(x, "a1"), "b1");
  const auto parts = partition(placed({x}, {b}));
  const Node* recv = parts[1].subgraph.graph->find("a1/recv");
  ASSERT_NE(recv, nullptr);
  EXPECT_EQ(recv->outputs()[0].shape.to_string(), "[2]");
  const Node* send = parts[0].subgraph.graph->find("a1/send");
  EXPECT_EQ(TensorTransfer::of(*send).key(), TensorTransfer::of(*recv).key());
  const TensorTransfer parsed =
      TensorTransfer::parse(TensorTransfer::of(*recv).key()).value();
  EXPECT_EQ(parsed.from, "/cpu:0");
  EXPECT_EQ(parsed.to, "/cpu:1");
  EXPECT_EQ(parsed.tensor, "a1");
  EXPECT_FALSE(TensorTransfer::parse("a1").ok());
}

class LoopPartitionTest : public PartitionTest {
 protected:
  // Counts to 3 in a loop, whose nodes "sit" on the device of the letter.
  Subgraph loop(char body) {
    Value x = number("a1");
    Value y = while_loop(
        [&](const Values& v) {
          return less(v[0], constant(g_, 3, DType::kF32));
        },
        [&](const Values& v) { return Values{neg(v[0], "body")}; }, {x})[0];
    Subgraph whole = placed({}, {neg(y, "a2")});
    for (const auto& node : whole.graph->nodes())
      if (node->name().starts_with("while")) node->set_device("/cpu:1");
    whole.graph->find("while/body")
        ->set_device(fmt::format("/cpu:{}", body - 'a'));
    return whole;
  }
};

TEST_F(LoopPartitionTest, ALoopOnAnotherDevice) {
  const std::string text = cut(loop('b'));
  EXPECT_THAT(text, HasSubstr("a1/send = Send(a1) to /cpu:1"));
  EXPECT_THAT(text, HasSubstr("while/Enter = Enter(a1/recv)"));
  EXPECT_THAT(text, HasSubstr("Exit/send = Send(while/Exit) to /cpu:0"));
}

TEST_F(LoopPartitionTest, ALoopIsNotCut) {
  try {
    cut(loop('a'));
    FAIL() << "a loop was cut";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("within a loop"));
    EXPECT_THAT(e.what(), HasSubstr("while/body"));
    EXPECT_THAT(e.what(), HasSubstr("/cpu:1"));
  }
}

TEST_F(PartitionTest, SaysWhatHasNoDevice) {
  Value x = feed("ax");
  Subgraph whole = placed({x}, {neg(x, "a1")});
  whole.graph->find("a1")->set_device("");
  EXPECT_THROW(partition(whole), Error);
}

}  // namespace
}  // namespace rondo
