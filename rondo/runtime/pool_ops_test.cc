#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/runtime/gradient_coverage.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// No two alike and far enough apart for finite differences of a maximum.
Tensor shuffled(const Shape& shape) {
  Tensor t = Tensor::empty(shape, DType::kF64);
  std::iota(t.span<double>().begin(), t.span<double>().end(), -7.0);
  std::mt19937 generator(3);
  std::shuffle(t.span<double>().begin(), t.span<double>().end(), generator);
  for (double& x : t.span<double>()) x /= 8;
  return t;
}

PoolOptions options_of(std::array<int64_t, 2> ksize,
                       std::array<int64_t, 2> strides, const char* padding) {
  PoolOptions options;
  options.ksize = ksize;
  options.strides = strides;
  options.padding = padding;
  return options;
}

struct Case {
  Shape x;
  PoolOptions options;
};

std::vector<Case> cases() {
  PoolOptions padded = options_of({3, 3}, {2, 2}, "EXPLICIT");
  padded.paddings = {1, 0, 2, 1};
  std::vector<Case> all = {
      {{2, 4, 6, 3}, options_of({2, 2}, {2, 2}, "VALID")},
      {{1, 7, 6, 2}, options_of({3, 3}, {2, 2}, "SAME")},
      {{1, 5, 4, 2}, options_of({2, 3}, {1, 1}, "SAME")},
      {{1, 7, 8, 1}, options_of({2, 1}, {3, 2}, "VALID")},
      {{1, 6, 5, 2}, padded},
      {{1, 2, 2, 70}, options_of({2, 2}, {1, 1}, "SAME")},
  };
  for (size_t i = 0, count = all.size(); i < count; ++i) {
    Case c = all[i];
    c.options.data_format = "NCHW";
    c.x = Shape{c.x[0], c.x[3], c.x[1], c.x[2]};
    all.push_back(c);
  }
  return all;
}

TEST(Pool, GradientsAreDerivatives) {
  for (const Case& c : cases())
    for (const bool known : {true, false}) {
      Graph g;
      Value x =
          placeholder(g, {.dtype = DType::kF64,
                          .shape = known ? PartialShape(c.x) : PartialShape()});
      for (Value y : {max_pool(x, c.options), avg_pool(x, c.options)}) {
        const auto check = check_and_record(y, {{x, shuffled(c.x)}});
        EXPECT_LT(check.worst, 1e-6)
            << y.name() << " " << c.x.to_string() << " " << check.where;
      }
    }
}

TEST(Pool, GradientsOfGradientsAreDerivatives) {
  for (const Case& c : cases()) {
    Graph g;
    Value x = placeholder(g, {.dtype = DType::kF64, .shape = c.x});
    for (Value y : {max_pool(x, c.options), avg_pool(x, c.options)}) {
      Value grad = placeholder(g, {.dtype = DType::kF64, .shape = y.shape()});
      const Value ys[] = {y}, xs[] = {x}, grads[] = {grad};
      const Value back = gradients(ys, xs, grads)[0].values;
      const Tensor g0 = shuffled(y.shape().to_shape());
      auto check = check_and_record(back, {{x, shuffled(c.x)}, {grad, g0}});
      EXPECT_LT(check.worst, 1e-6) << y.name() << " " << check.where;
      // And once more: by the gradient of what the first one sends back.
      Value out = placeholder(g, {.dtype = DType::kF64, .shape = c.x});
      const Value backs[] = {back}, bys[] = {grad}, outs[] = {out};
      const Value again = gradients(backs, bys, outs)[0].values;
      check = check_and_record(
          again, {{x, shuffled(c.x)}, {grad, g0}, {out, shuffled(c.x)}});
      EXPECT_LT(check.worst, 1e-6) << y.name() << " " << check.where;
    }
  }
}

Tensor ascending(const Shape& shape) {
  Tensor t = Tensor::empty(shape);
  std::iota(t.span<float>().begin(), t.span<float>().end(), 1.0F);
  return t;
}

TEST(Pool, ByHand) {
  Graph g;
  Value x = constant(g, ascending({1, 3, 3, 1}));
  Session session(g);
  const PoolOptions same = options_of({2, 2}, {2, 2}, "SAME");
  EXPECT_THAT(session.run(max_pool(x, same)).value().span<float>(),
              ElementsAre(5, 6, 8, 9));
  // Padding does not count.
  EXPECT_THAT(session.run(avg_pool(x, same)).value().span<float>(),
              ElementsAre(3, 4.5, 7.5, 9));
  Value where = max_pool(x, same).node->output(1);
  EXPECT_EQ(where.dtype(), DType::kU8);
  EXPECT_THAT(session.run(where).value().span<uint8_t>(),
              ElementsAre(3, 2, 1, 0));
}

TEST(Pool, TheFirstOfEqualsAndNaN) {
  Graph g;
  const float nan = std::nanf("");
  Value x =
      constant(g, Tensor::of<float>(
                      {1, 1, 6, 1},
                      std::vector<float>{2, 2, nan, 5, -INFINITY, -INFINITY}));
  Value y = max_pool(x, options_of({1, 2}, {1, 2}, "VALID"));
  Session session(g);
  const auto found = session.run({y, y.node->output(1)}, {}).value();
  EXPECT_EQ(found[0].span<float>()[0], 2);
  EXPECT_TRUE(std::isnan(found[0].span<float>()[1]));
  EXPECT_EQ(found[0].span<float>()[2], -INFINITY);
  EXPECT_THAT(found[1].span<uint8_t>(), ElementsAre(0, 0, 0));
}

// Rows of windows of many floats have loops of their own, doubles do not.
TEST(Pool, FloatsAsDoubles) {
  const std::vector<Case> many = {
      {{2, 6, 8, 16}, options_of({2, 2}, {2, 2}, "VALID")},
      {{2, 5, 7, 16}, options_of({2, 2}, {2, 2}, "VALID")},
      {{1, 7, 9, 32}, options_of({3, 3}, {2, 2}, "SAME")},
      {{1, 6, 3, 48}, options_of({3, 1}, {3, 1}, "VALID")},
      {{1, 4, 4, 80}, options_of({2, 2}, {2, 2}, "SAME")},
      {{1, 4, 4, 64}, options_of({3, 3}, {1, 1}, "SAME")}};
  for (const Case& c : many) {
    const auto run = [&](DType dtype) {
      Graph g;
      Tensor images = shuffled(c.x);
      images.span<double>()[7] = std::nan("");
      const Value x = cast(constant(g, images), dtype);
      const Value y = max_pool(x, c.options);
      const Value grad = dense_gradients({{y * y}}, {{x}})[0];
      Session session(g);
      return session
          .run({cast(y, DType::kF64), cast(y.node->output(1), DType::kI32),
                cast(grad, DType::kF64)},
               {})
          .value();
    };
    const std::vector<Tensor> floats = run(DType::kF32);
    const std::vector<Tensor> doubles = run(DType::kF64);
    for (const size_t i : {0, 2})
      EXPECT_THAT(floats[i].span<double>(),
                  testing::Pointwise(testing::NanSensitiveDoubleEq(),
                                     doubles[i].span<double>()))
          << c.x.to_string();
    EXPECT_THAT(floats[1].span<int32_t>(),
                testing::ElementsAreArray(doubles[1].span<int32_t>()));
  }
}

TEST(Pool, EveryType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                            DType::kI32, DType::kI16, DType::kI8, DType::kU8}) {
    for (const Case& c : cases()) {
      Graph g;
      Value x = placeholder(g, {.dtype = DType::kF64, .shape = c.x});
      Tensor in = shuffled(c.x);
      for (double& v : in.span<double>()) v = std::fmod(std::abs(v * 8), 60);
      Value wide = max_pool(x, c.options);
      Value narrow = cast(max_pool(cast(x, dtype), c.options), DType::kF64);
      Session session(g);
      const auto found = session.run({wide, narrow}, {{x, in}}).value();
      EXPECT_TRUE(
          std::ranges::equal(found[0].span<double>(), found[1].span<double>()))
          << name_of(dtype);
      if (!contains(TypeSet::kFloat, dtype)) continue;
      Value z = cast(x, dtype);
      const Value ys[] = {wide, avg_pool(x, c.options)}, xs[] = {x};
      const Value ws[] = {max_pool(z, c.options), avg_pool(z, c.options)};
      const Value zs[] = {z};
      const std::vector<Value> results = {
          ys[1],
          cast(ws[1], DType::kF64),
          dense_gradients({ys, 1}, xs)[0],
          cast(dense_gradients({ws, 1}, zs)[0], DType::kF64),
          dense_gradients({ys + 1, 1}, xs)[0],
          cast(dense_gradients({ws + 1, 1}, zs)[0], DType::kF64)};
      const auto both = session.run(results, {{x, in}}).value();
      for (size_t i = 0; i < both.size(); i += 2)
        for (size_t k = 0; k < both[i].span<double>().size(); ++k)
          EXPECT_NEAR(both[i].span<double>()[k], both[i + 1].span<double>()[k],
                      0.01 * (1 + std::abs(both[i].span<double>()[k])))
              << name_of(dtype) << " result " << i;
    }
  }
}

TEST(Pool, LargeWindowsHaveLargeIndices) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {1, 17, 18, 2}});
  Value y = max_pool(x, options_of({17, 17}, {1, 1}, "VALID"));
  EXPECT_EQ(y.node->output(1).dtype(), DType::kI32);
  const auto check = check_and_record(y, {{x, shuffled({1, 17, 18, 2})}});
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(Pool, EmptyTensors) {
  Graph g;
  const PoolOptions same = options_of({2, 2}, {2, 2}, "SAME");
  for (const Shape& shape :
       {Shape{0, 4, 4, 3}, Shape{2, 0, 4, 3}, Shape{2, 4, 4, 0}}) {
    Value x = zeros(g, shape);
    for (Value y : {max_pool(x, same), avg_pool(x, same)}) {
      const Value ys[] = {y}, xs[] = {x};
      Session session(g);
      const Value back = gradients(ys, xs)[0].values;
      EXPECT_EQ(session.run(back).value().shape(), shape);
    }
  }
}

TEST(Pool, SaysWhatDoesNotFit) {
  Graph g;
  Value x = placeholder(g, {.shape = {1, 5, 5, 3}});
  const auto message = [&](PoolOptions options) -> std::string {
    try {
      max_pool(x, options);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(options_of({6, 2}, {1, 1}, "VALID")),
              HasSubstr("the window has height 6, more than the image's 5"));
  EXPECT_THAT(message(options_of({0, 2}, {1, 1}, "VALID")),
              HasSubstr("\"ksize\" is [0, 2]"));
  PoolOptions padded = options_of({2, 2}, {1, 1}, "EXPLICIT");
  padded.paddings = {2, 0, 0, 0};
  EXPECT_THAT(message(padded), HasSubstr("must be less than the window"));
}

TEST(Pool, PlacesThatAreNoneAreLeftOut) {
  Graph g;
  const Attrs attrs = {{"ksize", Ints{2, 2}}, {"padding", std::string("SAME")}};
  Value where = constant(
      g, Tensor::of<uint8_t>({1, 1, 2, 1}, std::vector<uint8_t>{200, 3}));
  Value grad = constant(g, ascending({1, 1, 2, 1}));
  Value back =
      make("MaxPoolGrad", {constant_ints(g, {1, 1, 2, 1}), where, grad}, attrs);
  Value pick = make("MaxPoolPick", {grad, where}, attrs);
  Session session(g);
  EXPECT_THAT(session.run(back).value().span<float>(), ElementsAre(0, 0));
  EXPECT_THAT(session.run(pick).value().span<float>(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace rondo
