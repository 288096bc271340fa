// Gradients of loops in loops, against finite differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/runtime/gradient_coverage.h"

namespace rondo {
namespace {

using testing::HasSubstr;

Tensor vector(std::vector<double> x) {
  return Tensor::of<double>({static_cast<int64_t>(x.size())}, x);
}

// A loop that runs `times`, a scalar, over one variable; the body is told the
// number of the iteration.
Value repeat(Value times, Value x,
             const std::function<Value(Value, Value)>& body) {
  Graph& g = x.graph();
  return while_loop([&](const Values& v) { return less(v[0], times); },
                    [&](const Values& v) {
                      return Values{v[0] + 1.0, body(v[0], v[1])};
                    },
                    {constant(g, 0, DType::kF64), x})[1];
}

class LoopGradient : public testing::Test {
 protected:
  Value number(double n) { return constant(g, n, DType::kF64); }
  void expect_right(Value y) {
    const auto check =
        check_and_record(y, {{x, vector({.9, -.8})}, {w, vector({.7, 1.1})}});
    EXPECT_LT(check.worst, 1e-6) << check.where;
  }

  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {2}, .name = "x"});
  Value w = placeholder(g, {.dtype = DType::kF64, .shape = {2}, .name = "w"});
};

TEST_F(LoopGradient, OfALoopInALoop) {
  for (const double outer : {0., 1., 3.})
    for (const double inner : {0., 1., 4.}) {
      SCOPED_TRACE(fmt::format("{} times {}", outer, inner));
      expect_right(repeat(number(outer), x, [&](Value, Value v) {
        // w is from outside of both, v from the outer loop.
        return repeat(number(inner), sin(v),
                      [&](Value, Value u) { return u * w + tanh(v) * 0.1; });
      }));
    }
}

TEST_F(LoopGradient, OfAnInnerLoopThatRunsAsOftenAsTheOuterHas) {
  expect_right(repeat(number(4), x, [&](Value i, Value v) {
    const Value scaled = v * w;
    return repeat(i, v,
                  [&](Value j, Value u) {
                    return sin(u) + scaled * (j + 0.5) * 0.1;
                  }) +
           scaled;
  }));
}

TEST_F(LoopGradient, OfThreeLoopsInEachOther) {
  expect_right(repeat(number(2), x, [&](Value i, Value v) {
    return repeat(i + 1.0, v, [&](Value j, Value u) {
      return repeat(j, u * w,
                    [&](Value, Value t) { return tanh(t) + v * u * 0.3; });
    });
  }));
}

TEST_F(LoopGradient, OfTwoLoopsOneAfterTheOtherInALoop) {
  expect_right(repeat(number(2), x, [&](Value, Value v) {
    const Value once =
        repeat(number(2), v, [&](Value, Value u) { return u * w; });
    return repeat(number(3), once * v, [&](Value, Value u) { return sin(u); });
  }));
}

TEST_F(LoopGradient, OfALoopOnABranchInALoop) {
  expect_right(repeat(number(5), x, [&](Value i, Value v) {
    return cond(
        less(i, number(3)),
        [&] {
          return Values{repeat(i, v, [&](Value, Value u) { return u * w; })};
        },
        [&] { return Values{sin(v) * w}; })[0];
  }));
}

TEST_F(LoopGradient, OfABranchInALoopInALoop) {
  expect_right(repeat(number(3), x, [&](Value i, Value v) {
    return repeat(number(3), v, [&](Value j, Value u) {
      return cond(
          less(i, j), [&] { return Values{u * w}; },
          [&] { return Values{tanh(u) + v * 0.2}; })[0];
    });
  }));
}

TEST_F(LoopGradient, TakenWithinALoop) {
  // d/du sum((sin(u) * w)^3 run twice), in each iteration of a loop.
  Value y = repeat(number(3), x, [&](Value, Value v) {
    const Value inner =
        repeat(number(2), v, [&](Value, Value u) { return sin(u) * w; });
    const Value ys[] = {inner};
    const Value xs[] = {v};
    return v - dense_gradients(ys, xs)[0] * 0.5;
  });
  Session session(g, {.inter_op_threads = 2, .intra_op_threads = 1});
  std::vector<double> expected{.9, -.8};
  const std::vector<double> ws{.7, 1.1};
  for (int i = 0; i < 3; ++i)
    for (size_t k = 0; k < 2; ++k) {
      const double once = std::sin(expected[k]) * ws[k];
      expected[k] -=
          .5 * std::cos(once) * ws[k] * std::cos(expected[k]) * ws[k];
    }
  const Tensor found =
      session.run(y, {{x, vector({.9, -.8})}, {w, vector(ws)}}).value();
  for (size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(found.span<double>()[k], expected[k], 1e-12);
}

TEST_F(LoopGradient, SecondDerivativesThroughALoopAreAClearError) {
  const Value y =
      repeat(number(3), x, [&](Value, Value v) { return v * v * w; });
  const Value ys[] = {y};
  const Value xs[] = {x};
  const auto first = dense_gradients(ys, xs);
  try {
    dense_gradients(first, xs);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("gradient of a while_loop"));
  }
}

}  // namespace
}  // namespace rondo
