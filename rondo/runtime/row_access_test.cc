#include "rondo/graph/ops/row_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor matrix() {
  return Tensor::of<float>({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST(RowAccess, TakesSetsAddsAndClears) {
  Graph g;
  const Value x = constant(g, matrix());
  const Value i = constant(g, 1, DType::kI64);
  const Value row =
      constant(g, Tensor::of<float>({2}, std::vector<float>{10, 20}));
  const TakenRow taken = take_row(x, i);
  Session session(g);
  const auto got = session
                       .run({taken.row, taken.x, set_row(x, i, row),
                             add_row(x, i, row), clear_row(x, i)},
                            {})
                       .value();
  EXPECT_THAT(got[0].span<float>(), ElementsAre(3, 4));
  EXPECT_THAT(got[1].span<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(got[2].span<float>(), ElementsAre(1, 2, 10, 20, 5, 6));
  EXPECT_THAT(got[3].span<float>(), ElementsAre(1, 2, 13, 24, 5, 6));
  EXPECT_THAT(got[4].span<float>(), ElementsAre(1, 2, 0, 0, 5, 6));
}

TEST(RowAccess, LeavesAVariableAsItIs) {
  Graph g;
  const Value x = variable(g, constant(g, matrix()), {.name = "x"});
  const Value cleared = clear_row(x, constant(g, 0, DType::kI32));
  Session session(g);
  session.run(initializer(g)).value();
  EXPECT_THAT(session.run(cleared).value().span<float>(),
              ElementsAre(0, 0, 3, 4, 5, 6));
  EXPECT_THAT(session.run(x).value().span<float>(),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

Tensor ramp(const Shape& shape, double start) {
  Tensor tensor = Tensor::empty(shape, DType::kF64);
  double next = start;
  for (double& x : tensor.span<double>()) x = next += 0.5;
  return tensor;
}

class RowGradients : public testing::TestWithParam<Shape> {};

TEST_P(RowGradients, AreThoseOfDifferences) {
  const Shape& shape = GetParam();
  const auto extents = shape.extents();
  const Shape rest(std::vector<int64_t>(extents.begin() + 1, extents.end()));
  Graph g;
  const Value x = placeholder(g, {.dtype = DType::kF64, .shape = shape});
  const Value row = placeholder(g, {.dtype = DType::kF64, .shape = rest});
  const Value i = constant(g, 1, DType::kI64);
  const Feed fed_x = {x, ramp(shape, -1)};
  const Feed fed_row = {row, ramp(rest, 2)};
  const TakenRow taken = take_row(x, i);
  for (const Value& y : {taken.row, taken.x, taken.x + taken.row}) {
    const auto check = check_and_record(square(y), {fed_x});
    EXPECT_LT(check.worst, 1e-6) << check.where;
  }
  for (const Value& y : {set_row(x, i, row), add_row(x, i, row)}) {
    const auto check = check_and_record(square(y), {fed_x, fed_row});
    EXPECT_LT(check.worst, 1e-6) << check.where;
  }
  const auto check = check_and_record(square(clear_row(x, i)), {fed_x});
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

INSTANTIATE_TEST_SUITE_P(RowAccess, RowGradients,
                         testing::Values(Shape{3}, Shape{3, 2}, Shape{2, 3, 2},
                                         Shape{2, 1, 4}));

// y[i] = x[i]^2 by a loop, and the gradient of the sum of y.
TEST(RowAccess, LoopsOverRows) {
  Graph g;
  const Value x = placeholder(g, {.shape = {kAny, 2}});
  const Value count = reshape(cast(shape_of(x), DType::kI64), Ints{2});
  const Value rows = take_row(count, constant(g, 0, DType::kI64)).row;
  const Values left =
      while_loop([&](const Values& v) { return less(v[0], rows); },
                 [&](const Values& v) {
                   const TakenRow taken = take_row(v[1], v[0]);
                   return Values{v[0] + 1, taken.x,
                                 set_row(v[2], v[0], square(taken.row))};
                 },
                 {constant(g, 0, DType::kI64), x, zeros_like(x)});
  const std::vector<Value> ys = {left[2]};
  const std::vector<Value> xs = {x};
  const Value grad = dense_gradients(ys, xs)[0];
  Session session(g);
  const auto got = session.run({left[2], grad}, {{x, matrix()}}).value();
  EXPECT_THAT(got[0].span<float>(), ElementsAre(1, 4, 9, 16, 25, 36));
  EXPECT_THAT(got[1].span<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RowAccess, WrongShapesFailWhereTheyAreMade) {
  Graph g;
  const Value x = constant(g, matrix());
  const Value i = constant(g, 0, DType::kI64);
  EXPECT_THAT(message_of([&] { set_row(x, i, zeros(g, {3})); }),
              HasSubstr("row has shape [3]"));
  EXPECT_THAT(message_of([&] { take_row(i, i); }), HasSubstr("scalar"));
  EXPECT_THAT(message_of([&] { clear_row(x, zeros(g, {1}, DType::kI64)); }),
              HasSubstr("index"));
}

TEST(RowAccess, WrongIndicesAndFedShapesFailTheRun) {
  Graph g;
  const Value x = placeholder(g);
  const Value i =
      placeholder(g, {.dtype = DType::kI64, .shape = PartialShape::scalar()});
  const Value row = placeholder(g);
  Session session(g);
  auto index = [](int64_t n) { return Tensor::full({}, n); };
  for (const int64_t n : {-1, 3}) {
    const auto got =
        session.run(take_row(x, i).row, {{x, matrix()}, {i, index(n)}});
    ASSERT_FALSE(got.ok());
    EXPECT_THAT(got.status().message(), HasSubstr("out of range"));
  }
  auto got = session.run(
      add_row(x, i, row),
      {{x, matrix()}, {i, index(0)}, {row, Tensor::full({3}, 1.0f)}});
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.status().message(), HasSubstr("row has shape [3]"));
  got = session.run(clear_row(x, i),
                    {{x, Tensor::full({}, 1.0f)}, {i, index(0)}});
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.status().message(), HasSubstr("scalar"));
  const Value any = placeholder(g, {.dtype = DType::kI64});
  got = session.run(take_row(x, any).row,
                    {{x, matrix()}, {any, Tensor::zeros({0}, DType::kI64)}});
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.status().message(), HasSubstr("index has shape [0]"));
}

}  // namespace
}  // namespace rondo
