#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As inter-op threads: alone, and several.
class Control : public testing::TestWithParam<int> {
 protected:
  SessionOptions options() const {
    return {.inter_op_threads = GetParam(), .intra_op_threads = 1};
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, Control, testing::Values(1, 4));

Tensor scalar(double x) { return Tensor::full<double>(Shape{}, x); }
double number(const Tensor& t) { return t.span<double>()[0]; }

TEST_P(Control, OnlyTheBranchThatIsTakenRuns) {
  Graph g;
  Value c = placeholder(g, {.dtype = DType::kBool, .shape = Shape{}});
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = Shape{}});
  Value n = variable(g, constant(g, 0, DType::kF64), {.name = "n"});
  auto y = cond(
      c, [&] { return Values{x + assign_add(n, constant(g, 1, DType::kF64))}; },
      [&] { return Values{x * 10.0}; });
  Session session(g, options());
  session.run(initializer(g)).value();
  auto run = [&](bool b) {
    return number(
        session.run(y[0], {{c, Tensor::full<bool>(Shape{}, b)}, {x, scalar(3)}})
            .value());
  };
  EXPECT_EQ(run(true), 4);
  EXPECT_EQ(run(false), 30);
  EXPECT_EQ(run(true), 5);
  EXPECT_EQ(number(session.run(n).value()), 2);
}

TEST_P(Control, BranchesNest) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = Shape{}});
  Value zero = constant(g, 0, DType::kF64);
  auto y = cond(
      greater(x, zero),
      [&] {
        return cond(
            greater(x, constant(g, 10, DType::kF64)),
            [&] { return Values{x * 100.0}; }, [&] { return Values{x + 1.0}; });
      },
      [&] { return Values{zero}; });
  Session session(g, options());
  for (auto [in, out] : {std::pair(20.0, 2000.0), {5.0, 6.0}, {-1.0, 0.0}})
    EXPECT_EQ(number(session.run(y[0], {{x, scalar(in)}}).value()), out);
}

TEST_P(Control, GradientsFlowThroughTheBranchTaken) {
  for (const bool taken : {true, false}) {
    Graph g;
    Value c = placeholder(g, {.dtype = DType::kBool, .shape = Shape{}});
    Value x = placeholder(g, {.dtype = DType::kF64, .shape = {3}});
    Value w = placeholder(g, {.dtype = DType::kF64, .shape = {3}});
    auto y = cond(
        c, [&] { return Values{x * x}; }, [&] { return Values{x * w}; });
    const auto check = check_and_record(
        y[0], {{c, Tensor::full<bool>(Shape{}, taken)},
               {x, Tensor::of<double>({3}, std::vector<double>{1, -2, 3})},
               {w, Tensor::of<double>({3}, std::vector<double>{4, 5, 6})}});
    EXPECT_LT(check.worst, 1e-7) << check.where;
  }
}

TEST_P(Control, LoopsUntilTheConditionFails) {
  Graph g;
  Value n = placeholder(g, {.dtype = DType::kF64, .shape = Shape{}});
  // i, sum of 1..n, and a captured value.
  auto out =
      while_loop([&](const Values& v) { return less(v[0], n); },
                 [&](const Values& v) {
                   Value next = v[0] + 1.0;
                   return Values{next, v[1] + next};
                 },
                 {constant(g, 0, DType::kF64), constant(g, 0, DType::kF64)});
  Session session(g, options());
  for (const double last : {0.0, 1.0, 10.0, 1000.0}) {
    auto got = session.run(out, {{n, scalar(last)}}).value();
    EXPECT_EQ(number(got[0]), last);
    EXPECT_EQ(number(got[1]), last * (last + 1) / 2);
  }
}

TEST_P(Control, LoopsNestAndHoldBranches) {
  Graph g;
  Value n = placeholder(g, {.dtype = DType::kF64, .shape = Shape{}});
  auto outer =
      while_loop([&](const Values& v) { return less(v[0], n); },
                 [&](const Values& v) {
                   auto inner = while_loop(
                       [&](const Values& u) { return less(u[0], v[0]); },
                       [&](const Values& u) {
                         auto added = cond(
                             greater(u[0], constant(g, 2, DType::kF64)),
                             [&] { return Values{u[1] + 100.0}; },
                             [&] { return Values{u[1] + 1.0}; });
                         return Values{u[0] + 1.0, added[0]};
                       },
                       {constant(g, 0, DType::kF64), v[1]});
                   return Values{v[0] + 1.0, inner[1]};
                 },
                 {constant(g, 0, DType::kF64), constant(g, 0, DType::kF64)});
  Session session(g, options());
  double expected = 0;
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < i; ++j) expected += j > 2 ? 100 : 1;
  EXPECT_EQ(number(session.run(outer[1], {{n, scalar(7)}}).value()), expected);
}

TEST_P(Control, ALoopOnABranchNotTakenDoesNotRun) {
  Graph g;
  Value c = placeholder(g, {.dtype = DType::kBool, .shape = Shape{}});
  Value x = constant(g, 1, DType::kF64);
  auto y = cond(
      c,
      [&] {
        return while_loop(
            [&](const Values& v) {
              return less(v[0], constant(g, 100, DType::kF64));
            },
            [&](const Values& v) { return Values{v[0] * 2.0}; }, {x});
      },
      [&] { return Values{x}; });
  Session session(g, options());
  auto run = [&](bool b) {
    return number(
        session.run(y[0], {{c, Tensor::full<bool>(Shape{}, b)}}).value());
  };
  EXPECT_EQ(run(false), 1);
  EXPECT_EQ(run(true), 128);
  EXPECT_EQ(run(false), 1);
}

TEST_P(Control, AFetchOfABranchNotTakenIsAnError) {
  Graph g;
  Value c = placeholder(g, {.dtype = DType::kBool, .shape = Shape{}});
  Node& node =
      g.add({.op = "Switch", .inputs = {constant(g, 1, DType::kF32), c}});
  Session session(g, options());
  auto dead =
      session.run(node.output(0), {{c, Tensor::full<bool>(Shape{}, true)}});
  ASSERT_FALSE(dead.ok());
  EXPECT_THAT(dead.status().message(), HasSubstr("branch that was not taken"));
  EXPECT_TRUE(
      session.run(node.output(1), {{c, Tensor::full<bool>(Shape{}, true)}})
          .ok());
}

TEST_P(Control, WhatIsWithinALoopCanBeNeitherFetchedNorFed) {
  Graph g;
  Value inside;
  const Values out = while_loop(
      [&](const Values& v) { return less(v[0], constant(g, 3, DType::kF64)); },
      [&](const Values& v) {
        inside = v[0] + 1.0;
        return Values{inside};
      },
      {constant(g, 0, DType::kF64)});
  Session session(g, options());
  const auto fetched = session.run(inside);
  ASSERT_FALSE(fetched.ok());
  EXPECT_THAT(fetched.status().message(), HasSubstr("what leaves the loop"));
  EXPECT_THAT(session.run(*inside.node).message(), HasSubstr("within a loop"));
  const auto fed = session.run(out[0], {{inside, scalar(9)}});
  ASSERT_FALSE(fed.ok());
  EXPECT_THAT(fed.status().message(), HasSubstr("cannot be fed"));
  EXPECT_EQ(number(session.run(out[0]).value()), 3);
}

TEST_P(Control, AConditionIsAScalar) {
  Graph g;
  Value c = placeholder(g, {.dtype = DType::kBool});
  const Values y = cond(
      c, [&] { return Values{constant(g, 1, DType::kF64)}; },
      [&] { return Values{constant(g, 2, DType::kF64)}; });
  Session session(g, options());
  for (const Shape& shape : {Shape{0}, Shape{2}}) {
    const auto got =
        session.run(y[0], {{c, Tensor::zeros(shape, DType::kBool)}});
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(got.status().message(), HasSubstr("expected a scalar"));
  }
  EXPECT_EQ(
      number(
          session.run(y[0], {{c, Tensor::full<bool>(Shape{}, true)}}).value()),
      1);
}

TEST_P(Control, AMergeOfManyTakesTheOneThatLives) {
  Graph g;
  Value c = placeholder(g, {.dtype = DType::kBool, .shape = Shape{}});
  Node& node =
      g.add({.op = "Switch", .inputs = {constant(g, 7, DType::kF64), c}});
  std::vector<Value> inputs(300, node.output(0));
  inputs.push_back(node.output(1));
  Node& merge = g.add({.op = "Merge", .inputs = inputs});
  Session session(g, options());
  const auto got = session.run({merge.output(0), merge.output(1)},
                               {{c, Tensor::full<bool>(Shape{}, true)}});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(number((*got)[0]), 7);
  EXPECT_EQ((*got)[1].span<int64_t>()[0], 300);
}

TEST_P(Control, AnErrorInALoopEndsTheRunAndTheSessionGoesOn) {
  Graph g;
  Value n = placeholder(g, {.dtype = DType::kF64, .shape = Shape{}});
  auto out = while_loop(
      [&](const Values& v) { return less(v[0], n); },
      [&](const Values& v) {
        return Values{v[0] + 1.0, check_numerics(v[1] / (v[0] - 3.0), "odd")};
      },
      {constant(g, 0, DType::kF64), constant(g, 1, DType::kF64)});
  Session session(g, options());
  EXPECT_TRUE(session.run(out, {{n, scalar(3)}}).ok());
  const auto bad = session.run(out, {{n, scalar(9)}});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.status().message(), HasSubstr("odd"));
  EXPECT_TRUE(session.run(out, {{n, scalar(3)}}).ok());
}

TEST_P(Control, GradientsFlowBackThroughLoops) {
  for (const double times : {0.0, 1.0, 2.0, 12.0}) {
    Graph g;
    Value n = constant(g, times, DType::kF64);
    Value x = placeholder(g, {.dtype = DType::kF64, .shape = {3}});
    Value w = placeholder(g, {.dtype = DType::kF64, .shape = {3}});
    auto out = while_loop([&](const Values& v) { return less(v[0], n); },
                          [&](const Values& v) {
                            return Values{v[0] + 1.0, v[1] * w + tanh(v[1])};
                          },
                          {constant(g, 0, DType::kF64), x});
    const auto check = check_and_record(
        out[1],
        {{x, Tensor::of<double>({3}, std::vector<double>{1, -2, .3})},
         {w, Tensor::of<double>({3}, std::vector<double>{.4, .5, -1})}});
    EXPECT_LT(check.worst, 1e-6) << times << ": " << check.where;
  }
}

TEST_P(Control, GradientsFlowBackThroughBranchesInLoops) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {2}});
  Value w = placeholder(g, {.dtype = DType::kF64, .shape = {2}});
  auto out = while_loop(
      [&](const Values& v) { return less(v[0], constant(g, 6, DType::kF64)); },
      [&](const Values& v) {
        auto next = cond(
            less(v[0], constant(g, 3, DType::kF64)),
            [&] { return Values{v[1] * v[1] * w}; },
            [&] { return Values{sin(v[1])}; });
        return Values{v[0] + 1.0, next[0]};
      },
      {constant(g, 0, DType::kF64), x});
  const auto check = check_and_record(
      out[1], {{x, Tensor::of<double>({2}, std::vector<double>{.9, -.8})},
               {w, Tensor::of<double>({2}, std::vector<double>{.7, 1.1})}});
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(WhileLoop, ChangesOfAVariableThatALoopUsesLeaveTheLoopItsValue) {
  Graph g;
  const Value w = variable(g, constant(g, 2, DType::kF32), {.name = "w"});
  const Values left = while_loop(
      [](const Values& v) {
        return less(v[0], constant(v[0].graph(), 3, DType::kI32));
      },
      [&](const Values& v) {
        return Values{add(v[0], constant(g, 1, DType::kI32)), mul(v[1], w)};
      },
      {constant(g, 0, DType::kI32), constant(g, 1, DType::kF32)});
  // By w^3, whose slope is 3 w^2, and at once to something else.
  const std::vector<Value> ys = {left[1]};
  const std::vector<Value> xs = {w};
  const Value slope = dense_gradients(ys, xs)[0];
  const Value changed = assign_sub(w, slope);
  const Value set = assign(w, constant(g, 3, DType::kF32));
  Session session(g);
  session.run(initializer(g)).value();
  EXPECT_EQ(session.run(changed).value().span<float>()[0], 2 - 12);
  session.run(initializer(g)).value();
  const auto got = session.run({left[1], set}, {}).value();
  EXPECT_EQ(got[0].span<float>()[0], 8);
  EXPECT_EQ(got[1].span<float>()[0], 3);
}

}  // namespace
}  // namespace rondo
