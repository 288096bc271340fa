#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/test_numbers.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Value input(Graph& g, PartialShape shape, DType dtype = DType::kF64) {
  return placeholder(g, {.dtype = dtype, .shape = std::move(shape)});
}

using Build = Value (*)(Value, ReduceOptions);
struct Case {
  std::string name;
  Build build;
};
const Case kCases[] = {{"sum", reduce_sum},   {"mean", reduce_mean},
                       {"prod", reduce_prod}, {"max", reduce_max},
                       {"min", reduce_min},   {"lse", reduce_logsumexp}};

TEST(ReductionOps, Gradients) {
  const std::pair<Shape, std::vector<Ints>> shapes[] = {
      {{}, {{}}},
      {{5}, {{}, {0}, {-1}}},
      {{3, 4}, {{}, {0}, {1}, {-2}, {0, 1}}},
      {{2, 3, 4}, {{}, {1}, {0, 2}, {-1}, {1, 0}}},
      {{2, 1, 2, 3}, {{1}, {0, 2}, {1, 3}}}};
  for (const Case& test : kCases)
    for (const auto& [shape, all_axes] : shapes)
      for (const Ints& axes : all_axes)
        for (const bool keep : {false, true})
          for (const bool known : {false, true}) {
            Graph g;
            Value x = input(g, known ? PartialShape(shape) : PartialShape());
            const Value y = test.build(x, {axes, keep});
            const auto check =
                check_and_record(y, {{x, numbers(shape, 3, -2, 2)}});
            EXPECT_LT(check.worst, 1e-6)
                << test.name << shape.to_string() << to_string(AttrValue(axes))
                << keep << known << " " << check.where;
          }
}

TEST(ReductionOps, SecondDerivatives) {
  for (const Build build :
       {reduce_sum, reduce_mean, reduce_max, reduce_logsumexp}) {
    Graph g;
    Value x = input(g, {2, 3});
    const Value ys[] = {square(build(x, {{1}}))};
    const Value xs[] = {x};
    const auto check = check_and_record(dense_gradients(ys, xs)[0],
                                        {{x, numbers({2, 3}, 3, -2, 2)}});
    EXPECT_LT(check.worst, 1e-6) << check.where;
  }
}

TEST(ReductionOps, GradientOfAProductWithZeros) {
  Graph g;
  Value x = input(g, {3, 3});
  const Tensor at = Tensor::of<double>(
      {3, 3}, std::vector<double>{2, 0, 3, 0, 0, 5, 1, 2, 3});
  auto check = check_and_record(reduce_prod(x, {{1}}), {{x, at}});
  EXPECT_LT(check.worst, 1e-6) << check.where;
  check = check_and_record(reduce_prod(x, {{0}, true}), {{x, at}});
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(ReductionOps, LossAndNorms) {
  Graph g;
  Value x = input(g, {2, 3});
  Value y = input(g, PartialShape());
  const std::vector<Feed> at = {{x, numbers({2, 3}, 1)}, {y, numbers({4}, 2)}};
  auto check = check_and_record(l2_loss(x), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  check = check_and_record(global_norm({x, y}), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  for (const double limit : {0.5, 100.0}) {
    check = check_and_record(clip_by_global_norm({x, y}, limit).values[1], at);
    EXPECT_LT(check.worst, 1e-6) << check.where;
  }
}

TEST(ReductionOps, ClipsByGlobalNorm) {
  Graph g;
  Value x = constant(g, Tensor::of<float>({2}, std::vector<float>{3, 0}));
  Value y = constant(g, Tensor::of<float>({1}, std::vector<float>{4}));
  Session session(g);
  const Clipped small = clip_by_global_norm({x, y}, 2.5);
  EXPECT_THAT(session.run(small.values[0]).value().span<float>(),
              ElementsAre(1.5, 0));
  EXPECT_THAT(session.run(small.values[1]).value().span<float>(),
              ElementsAre(2));
  EXPECT_EQ(session.run(small.norm).value().span<float>()[0], 5);
  const Clipped large = clip_by_global_norm({x, y}, 50);
  EXPECT_THAT(session.run(large.values[1]).value().span<float>(),
              ElementsAre(4));
  Value infinite = constant(g, INFINITY, DType::kF32);
  const Clipped none = clip_by_global_norm({infinite, x}, 1);
  EXPECT_TRUE(std::isnan(session.run(none.values[1]).value().span<float>()[1]));
}

// Sums of many floats keep their precision, in every layout, and do not depend
// on how many threads there are.
TEST(ReductionOps, LongSumsArePreciseAndTheSameOnAnyNumberOfThreads) {
  constexpr int64_t kRows = 3000;
  constexpr int64_t kColumns = 70;
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> any(0, 1);
  Tensor data = Tensor::empty({kRows, kColumns}, DType::kF32);
  for (float& x : data.span<float>()) x = any(generator);
  double all = 0;
  std::vector<double> columns(kColumns);
  for (int64_t i = 0; i < data.count(); ++i) {
    const auto value = static_cast<double>(data.span<float>()[i]);
    all += value;
    columns[static_cast<size_t>(i % kColumns)] += value;
  }
  Graph g;
  Value x = input(g, {kRows, kColumns}, DType::kF32);
  const std::vector<Value> sums = {reduce_sum(x), reduce_sum(x, {{0}}),
                                   reduce_sum(x, {{1}})};
  std::vector<std::vector<Tensor>> found;
  for (const int threads : {1, 2, 3}) {
    Session session(g, {.intra_op_threads = threads});
    found.push_back(session.run(sums, {{x, data}}).value());
  }
  EXPECT_NEAR(found[0][0].span<float>()[0] / all, 1, 2e-7);
  for (size_t k = 0; k < columns.size(); ++k)
    EXPECT_NEAR(found[0][1].span<float>()[k] / columns[k], 1, 3e-7);
  for (size_t t = 1; t < found.size(); ++t)
    for (size_t s = 0; s < sums.size(); ++s)
      EXPECT_TRUE(same(found[0][s], found[t][s])) << t << " " << s;
}

TEST(ReductionOps, NothingToReduce) {
  Graph g;
  Value x = input(g, {0, 2}, DType::kF32);
  Value n = input(g, {0, 2}, DType::kI32);
  Session session(g);
  const std::vector<Feed> at = {{x, Tensor::zeros({0, 2})},
                                {n, Tensor::zeros({0, 2}, DType::kI32)}};
  const auto run = [&](Value y) {
    return session.run(y, at).value().span<float>()[0];
  };
  EXPECT_EQ(run(reduce_sum(x, {{0}})), 0);
  EXPECT_EQ(run(reduce_prod(x)), 1);
  EXPECT_EQ(run(reduce_max(x, {{0}})), -INFINITY);
  EXPECT_TRUE(std::isnan(run(reduce_mean(x, {{0}}))));
  EXPECT_EQ(session.run(reduce_sum(x, {{1}}), at).value().count(), 0);
  EXPECT_THAT(session.run(reduce_mean(n), at).status().message(),
              HasSubstr("the mean of no integers"));
}

TEST(ReductionOps, WrongAxesAreRefused) {
  Graph g;
  Value x = input(g, {2, 3});
  EXPECT_THROW(reduce_sum(x, {{2}}), Error);
  EXPECT_THROW(reduce_sum(x, {{-3}}), Error);
  EXPECT_THROW(reduce_sum(x, {{0, -2}}), Error);
  EXPECT_THROW(reduce_all(x), Error);
  Value u = input(g, PartialShape());
  Session session(g);
  const auto late =
      session.run(reduce_sum(u, {{1}}), {{u, Tensor::zeros({2}, DType::kF64)}});
  EXPECT_FALSE(late.ok());
}

}  // namespace
}  // namespace rondo
