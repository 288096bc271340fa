// Sessions that place by cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <thread>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr const char* kCpu0 = "/job:localhost/task:0/cpu:0";
constexpr const char* kCpu1 = "/job:localhost/task:0/cpu:1";

SessionOptions two(PlacementKind placement) {
  return {
      .intra_op_threads = 1, .devices = {{"cpu", 2}}, .placement = placement};
}

// The device that a table names for this node.
std::string device_in(const std::string& table, const std::string& node) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, op, device;
    words >> name >> op >> device;
    if (name == node) return device;
  }
  return "no such node";
}

class CostSessionTest : public testing::Test {
 protected:
  // Two products of large matrices, added.
  CostSessionTest() {
    x_ = placeholder(g_, {.shape = {kSize, kSize}, .name = "x"});
    left_ = make("MatMul", {x_, x_}, {}, "left");
    right_ = make("MatMul", {x_, make("Neg", {x_}, {}, "neg")}, {}, "right");
    sum_ = make("Sub", {left_, right_}, {}, "sum");
  }
  static Tensor numbers() {
    Tensor t = Tensor::full(Shape{kSize, kSize}, 0.0f);
    float next = 0;
    for (float& x : t.span<float>()) x = std::sin(++next);
    return t;
  }
  static constexpr int64_t kSize = 256;
  Graph g_;
  Value x_, left_, right_, sum_;
};

TEST_F(CostSessionTest, ADiamondIsSplit) {
  Session session(g_, two(PlacementKind::kCost));
  const std::string table = session.explain_placement({sum_}, {x_}).value();
  EXPECT_NE(device_in(table, "left"), device_in(table, "right")) << table;
  EXPECT_THAT((std::vector{kCpu0, kCpu1}),
              testing::Contains(device_in(table, "left")));
  const Tensor x = numbers();
  const Tensor expected = Session(g_).run(sum_, {{x_, x}}).value();
  // Through several times at which it may be placed again.
  for (int i = 0; i < 20; ++i) {
    const Tensor got = session.run(sum_, {{x_, x}}).value();
    EXPECT_TRUE(std::ranges::equal(got.span<float>(), expected.span<float>()));
  }
}

TEST_F(CostSessionTest, ItIsNotUnlessAskedFor) {
  Session session(g_, two(PlacementKind::kConstraints));
  const std::string table = session.explain_placement({sum_}, {x_}).value();
  EXPECT_EQ(device_in(table, "left"), kCpu0);
  EXPECT_EQ(device_in(table, "right"), kCpu0);
  EXPECT_THAT(table, HasSubstr("asks for nothing"));
  EXPECT_THAT(table, HasSubstr("predicted step"));
}

TEST_F(CostSessionTest, OneDevice) {
  Session session(g_, {.placement = PlacementKind::kCost});
  const std::string table = session.explain_placement({sum_}, {x_}).value();
  EXPECT_EQ(device_in(table, "left"), kCpu0);
  EXPECT_TRUE(session.run(sum_, {{x_, numbers()}}).ok());
}

TEST_F(CostSessionTest, ExplainSaysWhatIsWrong) {
  Session session(g_, two(PlacementKind::kCost));
  EXPECT_THAT(session.explain_placement({sum_}).status().message(),
              HasSubstr("\"x\""))
      << "is not fed";
  Graph other;
  EXPECT_EQ(session.explain_placement({constant(other, 1, DType::kF32)})
                .status()
                .code(),
            Code::kInvalidArgument);
}

// Runs that change a variable, while their plan is timed and placed again.
TEST_F(CostSessionTest, VariablesKeepTheirValues) {
  Value v = variable(g_, constant(g_, 0, DType::kF32), {.name = "v"});
  const Value count = assign_add(v, constant(g_, 1, DType::kF32));
  const Value y = make("Mul", {count, identity(sum_)}, {}, "y");
  Session session(g_, two(PlacementKind::kCost));
  ASSERT_TRUE(session.run(assign(v, constant(g_, 0, DType::kF32))).ok());
  const Tensor x = numbers();
  const auto work = [&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(session.run(y, {{x_, x}}).ok());
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(session.run(v).value().span<float>()[0], 40);
}

}  // namespace
}  // namespace rondo
