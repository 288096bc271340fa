// Accumulators: averages of gradients from several runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "rondo/graph/ops/accumulator.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> all(const Tensor& t) {
  return {t.span<float>().begin(), t.span<float>().end()};
}
std::vector<int64_t> ints(const Tensor& t) {
  return {t.span<int64_t>().begin(), t.span<int64_t>().end()};
}
Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}
Tensor number(int64_t value) { return Tensor::full<int64_t>({}, value); }
Value count_of(Graph& g, int64_t n) {
  return constant(g, static_cast<double>(n), DType::kI64);
}

template <class F>
std::string refused(F build) {
  try {
    build();
  } catch (const Error& e) {
    return e.what();
  }
  return "not refused";
}

struct Dense {
  explicit Dense(AccumulatorOptions options = {.shape = {2}})
      : accumulator(g, with_name(std::move(options))),
        gradient(placeholder(g, {.dtype = accumulator.dtype()})),
        step(placeholder(g, {.dtype = DType::kI64, .name = "step"})),
        apply(accumulator.apply_grad(gradient, step)),
        set(accumulator.set_global_step(step)),
        resume(accumulator.resume_at(step)),
        count(accumulator.num_accumulated()),
        n(placeholder(g, {.dtype = DType::kI64, .name = "n"})),
        take(accumulator.take_grad(n)),
        session(g) {}
  static AccumulatorOptions with_name(AccumulatorOptions options) {
    options.name = "acc";
    return options;
  }
  Status give(const std::vector<float>& values, int64_t at = 0) {
    return session.run(
        apply,
        {{gradient, floats({static_cast<int64_t>(values.size())}, values)},
         {step, number(at)}});
  }
  Result<Tensor> taken(int64_t required) {
    return session.run(take, {{n, number(required)}});
  }
  int64_t accumulated() { return ints(session.run(count).value())[0]; }

  Graph g;
  ConditionalAccumulator accumulator;
  Value gradient, step;
  Node &apply, &set, &resume;
  Value count, n, take;
  Session session;
};

TEST(ConditionalAccumulator, GivesTheAverageAndBeginsAgain) {
  Dense a;
  a.give({1, 2}).value();
  a.give({3, 6}).value();
  EXPECT_EQ(a.accumulated(), 2);
  EXPECT_THAT(all(a.taken(1).value()), ElementsAre(2, 4));
  EXPECT_EQ(a.accumulated(), 0);
  a.give({5, 5}, 1).value();
  EXPECT_THAT(all(a.taken(1).value()), ElementsAre(5, 5));
}

TEST(ConditionalAccumulator, GivesTheSumWhereSoAsked) {
  Dense a({.shape = {2}, .reduction_type = "SUM"});
  a.give({1, 2}).value();
  a.give({3, 6}).value();
  EXPECT_THAT(all(a.taken(2).value()), ElementsAre(4, 8));
}

TEST(ConditionalAccumulator, DropsWhatIsStale) {
  Dense a;
  a.give({1, 1}, 0).value();
  a.taken(1).value();  // step 1 now
  a.give({9, 9}, 0).value();
  EXPECT_EQ(a.accumulated(), 0);
  a.session.run(a.set, {{a.step, number(5)}}).value();
  a.give({9, 9}, 4).value();
  EXPECT_EQ(a.accumulated(), 0);
  a.session.run(a.set, {{a.step, number(2)}}).value();  // never back
  a.give({9, 9}, 4).value();
  EXPECT_EQ(a.accumulated(), 0);
  a.give({7, 7}, 5).value();
  EXPECT_THAT(all(a.taken(1).value()), ElementsAre(7, 7));
}

TEST(ConditionalAccumulator, ResumesAtAnEarlierStep) {
  Dense a;
  a.session.run(a.set, {{a.step, number(5)}}).value();
  a.give({1, 1}, 5).value();
  a.session.run(a.resume, {{a.step, number(2)}}).value();
  a.give({9, 9}, 1).value();
  EXPECT_EQ(a.accumulated(), 1);
  a.give({3, 3}, 2).value();
  EXPECT_THAT(all(a.taken(2).value()), ElementsAre(2, 2));
}

TEST(ConditionalAccumulator, WaitsForEnough) {
  Dense a;
  Result<Tensor> got = Tensor();
  std::thread takes([&] { got = a.taken(10); });
  std::vector<std::thread> givers;
  for (int t = 0; t < 5; ++t)
    givers.emplace_back([&, t] {
      for (int i = 0; i < 2; ++i) a.give({static_cast<float>(t), 1}).value();
    });
  for (std::thread& t : givers) t.join();
  takes.join();
  EXPECT_THAT(all(got.value()), ElementsAre(2, 1));
}

TEST(ConditionalAccumulator, EndsTheWaitInTimeAndWithTheSession) {
  Dense a;
  EXPECT_EQ(
      a.session
          .run({a.take}, {{a.n, number(1)}}, {}, {.timeout = seconds(0.02)})
          .status()
          .code(),
      Code::kTimeout);
  a.give({1, 2}).value();
  EXPECT_THAT(all(a.taken(1).value()), ElementsAre(1, 2));
  std::thread closes([&] { a.session.close(); });
  EXPECT_EQ(a.taken(1).status().code(), Code::kCancelled);
  closes.join();
}

TEST(ConditionalAccumulator, AddsSixteenBitsInThirtyTwo) {
  Dense a({.dtype = DType::kF16});
  const Tensor big = Tensor::full<Half>({1}, Half::from_float(2048));
  const Tensor one = Tensor::full<Half>({1}, Half::from_float(1));
  for (const Tensor& t : {big, one, one, one})
    a.session.run(a.apply, {{a.gradient, t}, {a.step, number(0)}}).value();
  // 2051 / 4, rounded; in f16 2048 + 1 is 2048, and so the average 512.
  EXPECT_EQ(a.taken(4).value().span<Half>()[0].to_float(), 513);
}

TEST(ConditionalAccumulator, RefusesWhatDoesNotFit) {
  Graph g;
  EXPECT_THAT(
      refused([&] { ConditionalAccumulator(g, {.dtype = DType::kI32}); }),
      HasSubstr("i32"));
  EXPECT_THAT(
      refused([&] { ConditionalAccumulator(g, {.reduction_type = "MAX"}); }),
      HasSubstr("\"MAX\""));
  Dense a;
  EXPECT_THAT(refused([&] {
                a.accumulator.apply_grad(placeholder(a.g, {.shape = {3}}),
                                         a.step);
              }),
              HasSubstr("gradients of shape [2], not [3]"));
  EXPECT_THAT(refused([&] {
                a.accumulator.apply_grad(
                    placeholder(a.g, {.dtype = DType::kF64, .shape = {2}}),
                    a.step);
              }),
              HasSubstr("has type f32, the gradient f64"));
  EXPECT_THAT(refused([&] { a.accumulator.take_grad(count_of(a.g, 0)); }),
              HasSubstr("num_required is 0"));
  EXPECT_THAT(a.give({1, 2, 3}).message(),
              HasSubstr("\"acc\" has gradients of shape [2], not [3]"));
  EXPECT_THAT(a.taken(-1).status().message(), HasSubstr("num_required is -1"));
  EXPECT_EQ(a.accumulated(), 0);
  Dense any(AccumulatorOptions{});
  any.give({1, 2, 3}).value();
  EXPECT_THAT(any.give({1, 2}).message(), HasSubstr("shape [3], not [2]"));
  EXPECT_THAT(all(any.taken(1).value()), ElementsAre(1, 2, 3));
}

struct Sparse {
  explicit Sparse(const AccumulatorOptions& options = {})
      : accumulator(g, options),
        values(placeholder(g, {.name = "values"})),
        indices(placeholder(g, {.dtype = DType::kI64, .name = "indices"})),
        shape(placeholder(g, {.dtype = DType::kI64, .name = "shape"})),
        apply(accumulator.apply_grad({values, indices, shape}, count_of(g, 0))),
        take(accumulator.take_grad(count_of(g, 2))),
        session(g) {}
  Status give(const Tensor& rows, const std::vector<int64_t>& at,
              const std::vector<int64_t>& whole = {}) {
    auto vector = [](const std::vector<int64_t>& v) {
      return Tensor::of<int64_t>({static_cast<int64_t>(v.size())},
                                 std::span<const int64_t>(v));
    };
    return session.run(
        apply, {{values, rows}, {indices, vector(at)}, {shape, vector(whole)}});
  }
  Result<std::vector<Tensor>> taken() {
    return session.run({take.values, take.indices, take.shape}, {});
  }

  Graph g;
  SparseConditionalAccumulator accumulator;
  Value values, indices, shape;
  Node& apply;
  Gradient take;
  Session session;
};

TEST(SparseConditionalAccumulator, AveragesEachRowOverThoseThatHaveIt) {
  Sparse a({.shape = {5, 2}});
  a.give(floats({2, 2}, {1, 2, 3, 4}), {4, 1}).value();
  // A row that comes twice adds up, and counts once.
  a.give(floats({3, 2}, {10, 20, 1, 1, 2, 2}), {1, 0, 0}, {5, 2}).value();
  const auto got = a.taken().value();
  EXPECT_THAT(ints(got[1]), ElementsAre(0, 1, 4));
  EXPECT_EQ(got[0].shape(), Shape({3, 2}));
  EXPECT_THAT(all(got[0]), ElementsAre(3, 3, 6.5, 12, 1, 2));
  EXPECT_THAT(ints(got[2]), ElementsAre(5, 2));
}

TEST(SparseConditionalAccumulator, SumsWhereSoAsked) {
  Sparse a({.reduction_type = "SUM"});
  a.give(floats({1, 1}, {1}), {2}).value();
  a.give(floats({1, 1}, {5}), {2}).value();
  const auto got = a.taken().value();
  EXPECT_THAT(all(got[0]), ElementsAre(6));
  // Nobody said how many rows there are.
  EXPECT_THAT(ints(got[2]), ElementsAre(3, 1));
}

TEST(SparseConditionalAccumulator, RefusesWhatDoesNotFit) {
  Graph g;
  EXPECT_THAT(refused([&] {
                SparseConditionalAccumulator(g,
                                             {.shape = PartialShape::scalar()});
              }),
              HasSubstr("scalar"));
  EXPECT_THAT(refused([&] {
                SparseConditionalAccumulator(g).apply_grad(fill(g, {2}, 1),
                                                           count_of(g, 0));
              }),
              HasSubstr("sparse gradients"));
  Sparse a({.shape = {5, 2}});
  const Tensor rows = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(a.give(rows, {1}).message(), HasSubstr("one index for each row"));
  EXPECT_THAT(a.give(rows, {0, 5}).message(),
              HasSubstr("index 1 is 5, out of range"));
  EXPECT_THAT(a.give(rows, {0, -1}).message(), HasSubstr("index 1 is -1"));
  EXPECT_THAT(a.give(rows, {0, 1}, {6, 2}).message(), HasSubstr("[5, 2]"));
  EXPECT_THAT(a.give(rows, {0, 1}, {5, 3}).message(), HasSubstr("[5, 3]"));
  EXPECT_THAT(a.give(floats({2, 1}, {1, 2}), {0, 1}).message(),
              HasSubstr("[5, 2], not [?, 1]"));
  a.give(rows, {0, 1}).value();
  a.give(rows, {0, 1}).value();
  EXPECT_THAT(all(a.taken().value()[0]), ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace rondo
