// Images in blocks of channels, between kernels that take them so: the same
// results as row-major, and nobody outside a step sees a block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/kernels/layout.h"
#include "rondo/runtime/buffer_pool.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

Tensor random_tensor(const Shape& shape, int seed) {
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::uniform_real_distribution<float> any(-1, 1);
  Tensor t = Tensor::empty(shape);
  for (float& x : t.span<float>()) x = any(generator);
  return t;
}

// `tolerance` is of the largest element.
void expect_near(const Tensor& a, const Tensor& b, float tolerance,
                 const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  float largest = 0;
  for (const float x : b.span<float>())
    largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < static_cast<size_t>(a.count()); ++i)
    ASSERT_NEAR(a.span<float>()[i], b.span<float>()[i], tolerance * largest)
        << what << " element " << i;
}

TEST(Layout, ThereAndBack) {
  BufferPool pool;
  for (const bool last : {true, false}) {
    const Shape shape = last ? Shape{2, 3, 5, 32} : Shape{2, 32, 3, 5};
    const Tensor x = random_tensor(shape, 1);
    const Tensor blocked = in_layout(pool, x, blocked_layout(last));
    EXPECT_EQ(blocked.layout(), blocked_layout(last));
    // Channel 17 of row 1, column 2 of the second image.
    const size_t from = last ? ((size_t{1} * 3 + 1) * 5 + 2) * 32 + 17
                             : ((size_t{1} * 32 + 17) * 3 + 1) * 5 + 2;
    const size_t to = (((size_t{1} * 2 + 1) * 3 + 1) * 5 + 2) * 16 + 1;
    EXPECT_EQ(blocked.span<float>()[to], x.span<float>()[from]);
    const Tensor back = in_layout(pool, blocked, Layout::kRowMajor);
    EXPECT_EQ(back.layout(), Layout::kRowMajor);
    expect_near(back, x, 0, "back");
    // From one blocked shape to the other there is no short way.
    EXPECT_FALSE(can_block(Shape{2, 3, 5, 30}, true));
    EXPECT_FALSE(can_block(Shape{2, 32}, true));
  }
  EXPECT_THROW(in_layout(pool, Tensor::zeros({2, 3, 5, 30}), Layout::kNhwc16),
               Error);
}

// `use` behind a convolution that leaves its result blocked, and behind the
// same values fed.
class Blocked : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int64_t kChannels = 48;

  bool last() const { return GetParam()[1] == 'H'; }
  Shape image(int64_t channels, int64_t side = 12) const {
    return last() ? Shape{2, side, side + 2, channels}
                  : Shape{2, channels, side, side + 2};
  }
  Value conv(Value x, Value filter, int64_t stride = 1) const {
    Conv2DOptions options;
    options.data_format = GetParam();
    options.padding = "SAME";
    options.strides = {stride, stride};
    return conv2d(x, filter, options);
  }
  // use(x, other) with x blocked or not, and its gradients by x and by
  // `parameter` where there is one.
  template <class Use>
  void check(const char* what, const Use& use, float tolerance = 0,
             const Shape& parameter_shape = {kChannels}) {
    Graph g;
    Value seed = placeholder(g, {.shape = PartialShape(image(32))});
    Value filter = placeholder(g, {.shape = {3, 3, 32, kChannels}});
    Value parameter = placeholder(g, {.shape = PartialShape(parameter_shape)});
    Value fed = placeholder(g, {.shape = PartialShape(image(kChannels))});
    Value blocked = conv(seed, filter);
    std::vector<Value> ys[2];
    for (const bool direct : {false, true}) {
      Value x = direct ? blocked : fed;
      Value y = use(x, parameter);
      // Neither zero nor one, so that the gradient is a gradient of something.
      Value loss = reduce_sum(y * y * 0.5F);
      const Value xs[] = {x, parameter};
      const Value losses[] = {loss};
      ys[direct].push_back(y);
      for (const Gradient& gradient : gradients(losses, xs))
        if (gradient) ys[direct].push_back(gradient.values);
    }
    const std::vector<Feed> feeds = {
        {seed, random_tensor(image(32), 1)},
        {filter, random_tensor({3, 3, 32, kChannels}, 2)},
        {parameter, random_tensor(parameter_shape, 3)}};
    Session session(g);
    std::vector<Feed> all = feeds;
    all.push_back({fed, session.run(blocked, feeds).value()});
    const auto expected = session.run(ys[false], all).value();
    const auto found = session.run(ys[true], feeds).value();
    ASSERT_EQ(expected.size(), found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].layout(), Layout::kRowMajor);
      expect_near(found[i], expected[i], tolerance,
                  fmt::format("{} of {}", i, what));
    }
  }
};

TEST_P(Blocked, ElementWise) {
  check("relu", [](Value x, Value) { return relu(x); });
  check(
      "add", [](Value x, Value) { return x + tanh(x); }, 1e-6F);
  check("scalar", [](Value x, Value) { return x * 3.0F + 1.0F; });
  check("sum", [](Value x, Value) { return make("AddN", {x, relu(x), x}); });
}

TEST_P(Blocked, WhatIsBroadcastIsRowMajor) {
  const Shape row = last() ? Shape{kChannels} : Shape{kChannels, 1, 1};
  check(
      "row", [](Value x, Value b) { return x * b; }, 1e-5F, row);
  // One element, but of more axes than a blocked image has.
  check(
      "one", [](Value x, Value b) { return x * b; }, 1e-5F,
      Shape{1, 1, 1, 1, 1});
}

TEST_P(Blocked, MixedWithRowMajor) {
  const Shape whole = image(kChannels);
  check(
      "plain right", [](Value x, Value b) { return x + b; }, 1e-5F, whole);
  check(
      "plain left", [](Value x, Value b) { return b * x; }, 1e-5F, whole);
}

TEST_P(Blocked, Pooling) {
  PoolOptions options;
  options.data_format = GetParam();
  options.ksize = {3, 3};
  options.strides = {2, 2};
  options.padding = "SAME";
  check(
      "max", [&](Value x, Value) { return max_pool(x, options); }, 1e-6F);
  check(
      "avg", [&](Value x, Value) { return avg_pool(x, options); }, 1e-6F);
}

TEST_P(Blocked, BatchNorm) {
  check(
      "batch norm",
      [&](Value x, Value scale) {
        // What is normalised has no gradient by x if all of it counts alike.
        return relu(
            fused_batch_norm({.x = x, .scale = scale, .offset = scale * 0.5F},
                             {.data_format = GetParam()})
                .y);
      },
      1e-5F);
}

TEST_P(Blocked, Bias) {
  check(
      "bias", [&](Value x, Value b) { return bias_add(x, b, GetParam()); },
      1e-5F);
}

TEST_P(Blocked, Convolutions) {
  for (const int64_t size : {1, 3, 5})
    for (const int64_t stride : {1, 2})
      for (const int64_t out : {16, 32, 5})
        check("conv", [&](Value x, Value w) { return conv(x, w, stride); },
              1e-4F, {size, size, kChannels, out});
}

TEST_P(Blocked, AxesThatOnlyLookLikeChannels) {
  // Normalised over an axis that is not that of the convolution's channels.
  const char* other = last() ? "NCHW" : "NHWC";
  const Shape axis = {last() ? 12 : 14};
  check(
      "other axis",
      [&](Value x, Value scale) {
        return fused_batch_norm({.x = x, .scale = scale, .offset = scale},
                                {.data_format = other})
            .y;
      },
      1e-5F, axis);
}

TEST_P(Blocked, NobodyElseSeesIt) {
  Graph g;
  Value x = placeholder(g, {.shape = PartialShape(image(32))});
  Value filter = placeholder(g, {.shape = {3, 3, 32, 32}});
  Value y = relu(conv(x, filter));
  Value v = variable(g, zeros(g, image(32)));
  Value kept = assign(v, y);
  Value flat = reshape(y, {-1});
  Value two = transpose(y, {1, 0, 2, 3});
  Session session(g);
  const std::vector<Feed> feeds = {{x, random_tensor(image(32), 1)},
                                   {filter, random_tensor({3, 3, 32, 32}, 2)}};
  const auto values = session.run({y, flat, two, kept}, feeds).value();
  expect_near(values[1].reshape(values[0].shape()), values[0], 0, "reshape");
  expect_near(values[3], values[0], 0, "assign");
  expect_near(session.run(v).value(), values[0], 0, "variable");
  const Tensor turned =
      session.run(transpose(x, {1, 0, 2, 3}), {{x, values[0]}}).value();
  expect_near(values[2], turned, 0, "transpose");
}

TEST_P(Blocked, NorDoConstantsThatAreFolded) {
  Graph g;
  const Tensor x = random_tensor(image(32), 1);
  const Tensor w = random_tensor({3, 3, 32, 32}, 2);
  Value fed_x = placeholder(g, {.shape = PartialShape(image(32))});
  Value fed_w = placeholder(g, {.shape = {3, 3, 32, 32}});
  Value folded = reshape(conv(constant(g, x), constant(g, w)), {-1});
  Value computed = reshape(conv(fed_x, fed_w), {-1});
  Session session(g);
  const auto values =
      session.run({folded, computed}, {{fed_x, x}, {fed_w, w}}).value();
  expect_near(values[0], values[1], 0, "folded");
}

INSTANTIATE_TEST_SUITE_P(Formats, Blocked, testing::Values("NHWC", "NCHW"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace rondo
