// What changes variables, or waits for something outside, in branches and
// loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

double number(const Tensor& t) { return t.span<double>()[0]; }

// As inter-op threads: alone, and several.
class ControlState : public testing::TestWithParam<int> {
 protected:
  Value scalar(double x) { return constant(g, x, DType::kF64); }
  Value increment(Value by) { return assign_add(n, by); }
  // A loop of `times`, in each of which body() runs to its end.
  Values repeat(double times, const std::function<Node*()>& body) {
    return while_loop(
        [&](const Values& v) { return less(v[0], scalar(times)); },
        [&](const Values& v) {
          const ControlScope after(g, {body()});
          return Values{identity(v[0] + 1.0)};
        },
        {scalar(0)});
  }
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  bool condition = false) {
    if (!initialized) session.run(initializer(g)).value();
    initialized = true;
    return session.run(fetches, {{c, Tensor::full<bool>(Shape{}, condition)}},
                       {}, {.timeout = std::chrono::seconds(30)});
  }
  double value(Value fetch, bool condition = false) {
    return number(run({fetch}, condition).value()[0]);
  }

  Graph g;
  Value c = placeholder(g, {.dtype = DType::kBool, .shape = Shape{}});
  Value n = variable(g, constant(g, 0, DType::kF64), {.name = "n"});
  Session session{g, {.inter_op_threads = GetParam(), .intra_op_threads = 1}};
  bool initialized = false;
};
INSTANTIATE_TEST_SUITE_P(Threads, ControlState, testing::Values(1, 4));

TEST_P(ControlState, BothBranchesChangeAVariable) {
  const Values y = cond(
      c, [&] { return Values{assign(n, scalar(1))}; },
      [&] { return Values{assign(n, scalar(2))}; });
  EXPECT_EQ(value(y[0], true), 1);
  EXPECT_EQ(value(y[0], false), 2);
  EXPECT_EQ(value(n), 2);
}

TEST_P(ControlState, OneBranchReadsWhatTheOtherChanges) {
  const Values y = cond(
      c, [&] { return Values{read_variable(n) + 1.0}; },
      [&] { return Values{assign(n, scalar(5))}; });
  EXPECT_EQ(value(y[0], true), 1);
  EXPECT_EQ(value(y[0], false), 5);
  EXPECT_EQ(value(y[0], true), 6);
}

TEST_P(ControlState, ABranchRunsOnlyWhenTakenWhateverItWaitsFor) {
  const Value other = variable(g, scalar(0), {.name = "other"});
  Values y;
  {
    const ControlScope after(g, {assign_add(other, scalar(1)).node});
    y = cond(
        c, [&] { return Values{increment(scalar(1))}; },
        [&] { return Values{scalar(7)}; });
  }
  EXPECT_EQ(value(y[0], false), 7);
  EXPECT_EQ(value(n), 0);
  EXPECT_EQ(value(other), 1);
  EXPECT_EQ(value(y[0], true), 1);
  EXPECT_EQ(value(other), 2);
}

TEST_P(ControlState, ALoopWaitsForWhatIsBeforeIt) {
  Values y;
  {
    const ControlScope after(g, {increment(scalar(1)).node});
    y = while_loop(
        [&](const Values& v) { return less(v[0], scalar(3)); },
        [&](const Values& v) { return Values{v[0] + read_variable(n)}; },
        {scalar(0)});
  }
  EXPECT_EQ(value(y[0]), 3);
}

TEST_P(ControlState, ABodyWaitsForSomethingOutside) {
  const Value before = increment(scalar(1));
  Node& done = group(g, {before.node});
  const Values y =
      while_loop([&](const Values& v) { return less(v[0], scalar(3)); },
                 [&](const Values& v) {
                   const ControlScope after(g, {&done});
                   return Values{v[0] + read_variable(n)};
                 },
                 {scalar(0)});
  EXPECT_EQ(value(y[0]), 3);
}

TEST_P(ControlState, ABodyRunsAsOftenAsTheConditionHolds) {
  // Nothing but its place ties the change to the loop's iterations.
  const Value one = scalar(1);
  const Values y = repeat(3, [&] { return increment(one).node; });
  EXPECT_EQ(value(y[0]), 3);
  EXPECT_EQ(value(n), 3);
}

TEST_P(ControlState, AnInnerLoopThatBeginsWithAValueFromOutside) {
  const Value zero = scalar(0);
  const Values y = repeat(3, [&] {
    return while_loop([&](const Values& v) { return less(v[0], scalar(2)); },
                      [&](const Values& v) {
                        const ControlScope after(g,
                                                 {increment(scalar(1)).node});
                        return Values{identity(v[0] + 1.0)};
                      },
                      {zero})[0]
        .node;
  });
  EXPECT_EQ(value(y[0]), 3);
  EXPECT_EQ(value(n), 6);
}

TEST_P(ControlState, AVariableOfALoopThatBecomesAValueFromOutside) {
  const Value five = scalar(5);
  const Values y =
      while_loop([&](const Values& v) { return less(v[0], scalar(3)); },
                 [&](const Values& v) {
                   return Values{v[0] + 1.0, five};
                 },
                 {scalar(0), scalar(1)});
  const auto got = run(y);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(number((*got)[0]), 3);
  EXPECT_EQ(number((*got)[1]), 5);
}

TEST_P(ControlState, AReadOutsideComesBeforeTheChangesOfALoop) {
  const Values y = repeat(3, [&] { return increment(scalar(1)).node; });
  const auto got = run({y[0], n});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(number((*got)[1]), 0);
  EXPECT_EQ(value(n), 3);
}

TEST_P(ControlState, AChangeOutsideComesAfterTheReadsOfALoop) {
  const Values y =
      while_loop([&](const Values& v) { return less(v[0], scalar(3)); },
                 [&](const Values& v) {
                   return Values{v[0] + 1.0, v[1] + read_variable(n)};
                 },
                 {scalar(0), scalar(1)});
  const Value change = assign(n, scalar(7));
  const auto got = run({y[1], change});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(number((*got)[0]), 1);
  EXPECT_EQ(number((*got)[1]), 7);
}

TEST_P(ControlState, ChangesOfTwoLoopsComeInTheOrderOfTheProgram) {
  const Values first = repeat(3, [&] { return increment(scalar(1)).node; });
  const Values second = repeat(2, [&] { return assign(n, scalar(10)).node; });
  const Value last = assign_add(n, scalar(0.5));
  const auto got = run({second[0], first[0], last});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(number((*got)[2]), 10.5);
}

}  // namespace
}  // namespace rondo
