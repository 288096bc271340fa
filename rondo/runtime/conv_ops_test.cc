#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/runtime/gradient_coverage.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T = double>
Tensor random_tensor(const Shape& shape, int seed) {
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::uniform_real_distribution<double> any(-1, 1);
  Tensor t = Tensor::empty(shape, dtype_of<T>);
  for (T& x : t.span<T>()) x = static_cast<T>(any(generator));
  return t;
}

Tensor ascending(const Shape& shape) {
  Tensor t = Tensor::empty(shape);
  float next = 1;
  for (float& x : t.span<float>()) x = next++;
  return t;
}

struct Case {
  const char* what;
  Shape x;
  Shape filter;
  Conv2DOptions options;
  bool depthwise = false;
};

Conv2DOptions options_of(std::array<int64_t, 2> strides, const char* padding,
                         std::array<int64_t, 2> dilations = {1, 1},
                         int64_t groups = 1) {
  Conv2DOptions options;
  options.strides = strides;
  options.padding = padding;
  options.dilations = dilations;
  options.groups = groups;
  return options;
}

Conv2DOptions padded(std::array<int64_t, 4> paddings) {
  Conv2DOptions options;
  options.padding = "EXPLICIT";
  options.paddings = paddings;
  return options;
}

std::vector<Case> small_cases() {
  return {
      {"plain", {2, 5, 4, 3}, {3, 2, 3, 2}, options_of({1, 1}, "VALID")},
      {"same", {1, 5, 6, 2}, {3, 4, 2, 3}, options_of({1, 1}, "SAME")},
      {"strided same", {2, 6, 5, 2}, {3, 3, 2, 2}, options_of({2, 3}, "SAME")},
      {"stride above window",
       {1, 6, 7, 1},
       {1, 2, 1, 2},
       options_of({2, 3}, "VALID")},
      {"dilated",
       {1, 7, 8, 2},
       {2, 3, 2, 2},
       options_of({1, 1}, "SAME", {2, 3})},
      {"grouped",
       {2, 4, 4, 4},
       {2, 2, 2, 6},
       options_of({1, 2}, "SAME", {1, 1}, 2)},
      {"uneven padding", {1, 4, 5, 2}, {3, 3, 2, 2}, padded({0, 2, 3, 1})},
      {"depthwise",
       {2, 5, 5, 3},
       {3, 3, 3, 1},
       options_of({2, 2}, "SAME"),
       true},
      {"depthwise times two",
       {1, 4, 5, 2},
       {2, 3, 2, 2},
       options_of({1, 1}, "VALID"),
       true},
  };
}

Shape to_nchw(const Shape& s) { return {s[0], s[3], s[1], s[2]}; }

Value conv_of(const Case& c, Value x, Value filter) {
  return c.depthwise ? depthwise_conv2d(x, filter, c.options)
                     : conv2d(x, filter, c.options);
}

class ConvFormat : public testing::TestWithParam<bool> {
 protected:
  Case in_format(Case c) const {
    if (GetParam()) {
      c.x = to_nchw(c.x);
      c.options.data_format = "NCHW";
    }
    return c;
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, ConvFormat, testing::Bool(),
                         [](const auto& format) {
                           return format.param ? "NCHW" : "NHWC";
                         });

TEST_P(ConvFormat, GradientsAreDerivatives) {
  for (const Case& small : small_cases()) {
    const Case c = in_format(small);
    Graph g;
    Value x = placeholder(g, {.dtype = DType::kF64, .shape = c.x});
    Value filter = placeholder(g, {.dtype = DType::kF64, .shape = c.filter});
    const auto check = check_and_record(
        conv_of(c, x, filter),
        {{x, random_tensor(c.x, 1)}, {filter, random_tensor(c.filter, 2)}});
    EXPECT_LT(check.worst, 1e-6) << c.what << " " << check.where;
  }
}

TEST_P(ConvFormat, GradientsOfGradientsAreDerivatives) {
  for (const Case& small : small_cases()) {
    const Case c = in_format(small);
    Graph g;
    // Of unknown extents, so that the shapes are read when it runs.
    Value x = placeholder(g, {.dtype = DType::kF64});
    Value filter = placeholder(g, {.dtype = DType::kF64});
    Value y = conv_of(c, x, filter);
    Value grad = placeholder(g, {.dtype = DType::kF64});
    const Value ys[] = {y}, xs[] = {x, filter}, grads[] = {grad};
    const auto back = gradients(ys, xs, grads);
    Session session(g);
    const Tensor x0 = random_tensor(c.x, 1);
    const Tensor f0 = random_tensor(c.filter, 2);
    const Shape shape = session.run(y, {{x, x0}, {filter, f0}}).value().shape();
    const Tensor g0 = random_tensor(shape, 3);
    auto check =
        check_and_record(back[0].values, {{x, x0}, {filter, f0}, {grad, g0}});
    EXPECT_LT(check.worst, 1e-6) << c.what << " input " << check.where;
    check =
        check_and_record(back[1].values, {{x, x0}, {filter, f0}, {grad, g0}});
    EXPECT_LT(check.worst, 1e-6) << c.what << " filter " << check.where;
  }
}

Tensor to_double(const Tensor& t) {
  Tensor d = Tensor::empty(t.shape(), DType::kF64);
  for (int64_t i = 0; i < t.count(); ++i) {
    const auto k = static_cast<size_t>(i);
    d.span<double>()[k] =
        t.dtype() == DType::kF32    ? double{t.span<float>()[k]}
        : t.dtype() == DType::kF16  ? double{t.span<Half>()[k].to_float()}
        : t.dtype() == DType::kBF16 ? double{t.span<BFloat16>()[k].to_float()}
                                    : t.span<double>()[k];
  }
  return d;
}

// y and both gradients in `dtype`, from the same numbers.
std::vector<Tensor> all_of(const Case& c, DType dtype,
                           bool any_numbers = false) {
  Graph g;
  Value x = placeholder(g, {.shape = c.x});
  Value filter = placeholder(g, {.shape = c.filter});
  // Unless any will do, numbers that every type has.
  const auto coarse = [&](Tensor t) {
    if (any_numbers) return t;
    for (float& v : t.span<float>()) v = std::round(v * 8) / 8;
    return t;
  };
  Value y = conv_of(c, cast(x, dtype), cast(filter, dtype));
  const Value ys[] = {y}, xs[] = {y.node->input(0), y.node->input(1)};
  Value w = constant(g, coarse(random_tensor<float>(y.shape().to_shape(), 5)));
  const Value grads[] = {cast(w, dtype)};
  const auto back = gradients(ys, xs, grads);
  Session session(g);
  auto found = session
                   .run({y, back[0].values, back[1].values},
                        {{x, coarse(random_tensor<float>(c.x, 3))},
                         {filter, coarse(random_tensor<float>(c.filter, 4))}})
                   .value();
  for (Tensor& t : found) {
    EXPECT_EQ(t.dtype(), dtype);
    t = to_double(t);
  }
  return found;
}

TEST_P(ConvFormat, EveryTypeAgreesWithPlainLoops) {
  std::vector<Case> cases = small_cases();
  // As in networks: full vectors of channels, a first layer, odd extents.
  cases.push_back(
      {"3x3", {2, 9, 9, 32}, {3, 3, 32, 64}, options_of({1, 1}, "SAME")});
  cases.push_back(
      {"3x3/2", {2, 9, 8, 32}, {3, 3, 32, 16}, options_of({2, 2}, "SAME")});
  cases.push_back(
      {"1x1", {3, 7, 7, 64}, {1, 1, 64, 32}, options_of({1, 1}, "VALID")});
  cases.push_back(
      {"1x1/2", {3, 8, 7, 64}, {1, 1, 64, 32}, options_of({2, 2}, "SAME")});
  cases.push_back(
      {"first", {2, 20, 20, 3}, {7, 7, 3, 64}, options_of({2, 2}, "SAME")});
  cases.push_back({"more padding than window",
                   {1, 4, 4, 16},
                   {2, 2, 16, 16},
                   padded({3, 4, 3, 3})});
  cases.push_back({"depthwise 32",
                   {2, 8, 8, 32},
                   {3, 3, 32, 1},
                   options_of({1, 1}, "SAME"),
                   true});
  cases.push_back({"groups of 16",
                   {2, 6, 6, 64},
                   {3, 3, 16, 64},
                   options_of({1, 1}, "SAME", {1, 1}, 4)});
  for (const Case& any : cases) {
    Case c = in_format(any);
    c.options.winograd = false;  // which has a test of its own
    const auto expected = all_of(c, DType::kF64);
    const std::pair<DType, double> types[] = {
        {DType::kF32, 1e-5}, {DType::kF16, 1e-3}, {DType::kBF16, 1e-2}};
    for (const auto& [dtype, tolerance] : types) {
      const auto found = all_of(c, dtype);
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(found[i].shape(), expected[i].shape()) << c.what;
        double worst = 0;
        for (size_t k = 0; k < found[i].span<double>().size(); ++k) {
          const double e = expected[i].span<double>()[k];
          worst = std::max(worst, std::abs(found[i].span<double>()[k] - e) /
                                      std::max(1.0, std::abs(e)));
        }
        EXPECT_LT(worst, tolerance)
            << c.what << " " << name_of(dtype) << " output " << i;
      }
    }
  }
}

// The largest difference, as a part of the largest element.
double distance(const Tensor& a, const Tensor& b) {
  double largest = 0;
  double worst = 0;
  for (size_t k = 0; k < a.span<double>().size(); ++k) {
    largest = std::max(largest, std::abs(b.span<double>()[k]));
    worst =
        std::max(worst, std::abs(a.span<double>()[k] - b.span<double>()[k]));
  }
  return worst / largest;
}

TEST_P(ConvFormat, WinogradIsNearlyAsPrecise) {
  const std::pair<Shape, Conv2DOptions> images[] = {
      {{2, 15, 13, 64}, options_of({1, 1}, "SAME")},
      {{2, 15, 13, 64}, options_of({1, 1}, "VALID")},
      // 3x3 only for the filter's gradient.
      {{2, 9, 7, 64}, options_of({1, 1}, "SAME")},
      {{9, 9, 10, 64}, padded({0, 4, 1, 3})},
      {{5, 8, 11, 64}, padded({6, 0, 2, 5})}};
  for (const auto& [x, options] : images)
    for (const int64_t size : {3, 5}) {
      Case c = in_format({"", x, {size, size, 64, 48}, options});
      const auto expected = all_of(c, DType::kF64, true);
      const auto fast = all_of(c, DType::kF32, true);
      c.options.winograd = false;
      const auto direct = all_of(c, DType::kF32, true);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_LT(distance(fast[i], expected[i]), 5e-6)
            << x.to_string() << size << i;
        EXPECT_LT(distance(direct[i], expected[i]), 5e-6)
            << x.to_string() << size << i;
      }
    }
}

TEST(Conv, ByHand) {
  Graph g;
  Value x = constant(g, ascending({1, 3, 3, 1}));
  Value filter = constant(g, ascending({2, 2, 1, 1}));
  Session session(g);
  // 1*1 + 2*2 + 4*3 + 5*4 = 37, and so on: not mirrored.
  EXPECT_THAT(session.run(conv2d(x, filter)).value().span<float>(),
              ElementsAre(37, 47, 67, 77));
  // One row and column of zeros, behind.
  EXPECT_THAT(session.run(conv2d(x, filter, options_of({2, 2}, "SAME")))
                  .value()
                  .span<float>(),
              ElementsAre(37, 21, 23, 9));
}

TEST(Conv, DepthwiseByHand) {
  Graph g;
  Value x = constant(g, ascending({1, 1, 1, 2}));
  Value filter = constant(g, ascending({1, 1, 2, 2}));
  Session session(g);
  EXPECT_THAT(session.run(depthwise_conv2d(x, filter)).value().span<float>(),
              ElementsAre(1, 2, 6, 8));
}

TEST(Conv, InfersWhatIsKnown) {
  Graph g;
  Value filter = placeholder(g, {.shape = {3, 3, 8, 16}});
  const auto shape = [&](PartialShape of, const char* padding) {
    Value x = placeholder(g, {.shape = std::move(of)});
    return conv2d(x, filter, options_of({2, 2}, padding)).shape();
  };
  EXPECT_EQ(shape({kAny, 9, kAny, 8}, "SAME"),
            (PartialShape{kAny, 5, kAny, 16}));
  EXPECT_EQ(shape({4, 9, 12, 8}, "VALID"), (PartialShape{4, 4, 5, 16}));
  EXPECT_EQ(shape({}, "SAME"), (PartialShape{kAny, kAny, kAny, 16}));
  Value x = placeholder(g, {.shape = {kAny, 10, 10, 8}});
  Value y = conv2d(x, filter, options_of({2, 2}, "SAME"));
  const Value ys[] = {y}, xs[] = {x, filter};
  const auto back = gradients(ys, xs);
  EXPECT_EQ(back[0].values.shape(), x.shape());
  EXPECT_EQ(back[1].values.shape(), filter.shape());
  EXPECT_EQ(cost_of(*y.node).flops, 2.0 * 3 * 3 * 8 * 16 * 5 * 5);
  EXPECT_EQ(cost_of(*back[0].values.node).flops, cost_of(*y.node).flops);
  EXPECT_EQ(cost_of(*back[1].values.node).flops, cost_of(*y.node).flops);
}

TEST(Conv, TransposeUndoesTheShape) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {kAny, 3, 4, 2}});
  Value filter = placeholder(g, {.dtype = DType::kF64, .shape = {3, 2, 5, 2}});
  Value same = conv2d_transpose(x, filter, options_of({2, 2}, "SAME"));
  EXPECT_EQ(same.shape(), (PartialShape{kAny, 6, 8, 5}));
  Value valid = conv2d_transpose(x, filter, options_of({2, 3}, "VALID"));
  EXPECT_EQ(valid.shape(), (PartialShape{kAny, 7, 12, 5}));
  Value given = conv2d_transpose(x, filter, constant_ints(g, {2, 5, 7, 5}),
                                 options_of({2, 2}, "SAME"));
  EXPECT_EQ(given.shape(), (PartialShape{2, 5, 7, 5}));
  for (Value y : {same, valid, given}) {
    const auto check =
        check_and_record(y, {{x, random_tensor({2, 3, 4, 2}, 1)},
                             {filter, random_tensor({3, 2, 5, 2}, 2)}});
    EXPECT_LT(check.worst, 1e-6) << check.where;
  }
}

TEST(Conv, EmptyTensors) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Graph g;
    Value x = zeros(g, {0, 4, 4, 3}, dtype);
    Value filter = ones(g, {3, 3, 3, 2}, dtype);
    Value y = conv2d(x, filter);
    const Value ys[] = {y}, xs[] = {x, filter};
    const auto back = gradients(ys, xs);
    Session session(g);
    const auto found =
        session.run({y, back[0].values, back[1].values}, {}).value();
    EXPECT_EQ(found[0].shape(), Shape({0, 2, 2, 2}));
    EXPECT_EQ(found[1].shape(), Shape({0, 4, 4, 3}));
    EXPECT_EQ(to_double(found[2]).span<double>()[7], 0);
    // No channels: sums of nothing.
    Value none =
        conv2d(zeros(g, {1, 3, 3, 0}, dtype), zeros(g, {3, 3, 0, 2}, dtype));
    EXPECT_THAT(to_double(session.run(none).value()).span<double>(),
                ElementsAre(0, 0));
  }
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Conv, SaysWhatDoesNotFit) {
  Graph g;
  Value x = placeholder(g, {.shape = {1, 5, 5, 3}});
  const auto message = [&](Shape filter, Conv2DOptions options) {
    return error_of(
        [&] { conv2d(x, placeholder(g, {.shape = filter}), options); });
  };
  EXPECT_THAT(message({3, 3, 4, 8}, {}),
              HasSubstr("the image has 3 channels, but the filter takes 4"));
  EXPECT_THAT(message({3, 3, 2, 8}, options_of({1, 1}, "SAME", {1, 1}, 2)),
              HasSubstr("3 channels, but the filter takes 4 (2 in each of 2 "
                        "groups)"));
  EXPECT_THAT(message({3, 6, 3, 8}, {}),
              HasSubstr("the window has width 6, more than the image's 5"));
  EXPECT_THAT(message({3, 3, 3, 8}, options_of({0, 1}, "SAME")),
              HasSubstr("\"strides\" is [0, 1]"));
  EXPECT_THAT(message({3, 3, 3, 8}, options_of({1, 1}, "FULL")),
              HasSubstr("\"padding\" is \"FULL\""));
  EXPECT_THAT(message({3, 3, 3}, {}), HasSubstr("rank 3, expected 4"));
  Conv2DOptions wrong;
  wrong.data_format = "CHWN";
  EXPECT_THAT(message({3, 3, 3, 8}, wrong), HasSubstr("\"CHWN\""));
  Value y = placeholder(g, {.shape = {1, 3, 4, 8}});
  EXPECT_THAT(error_of([&] {
                conv2d_backprop_input(constant_ints(g, {1, 5, 5, 3}),
                                      zeros(g, {3, 3, 3, 8}), y);
              }),
              HasSubstr("grad has shape [1, 3, 4, 8], but the convolution's "
                        "result is [1, 3, 3, 8]"));
}

TEST(Conv, SaysWhatDoesNotFitWhenItRuns) {
  Graph g;
  Value x = placeholder(g);
  Value filter = placeholder(g);
  Value shape = placeholder(g, {.dtype = DType::kI64});
  Value grad = placeholder(g);
  Session session(g);
  auto found =
      session.run(conv2d(x, filter), {{x, Tensor::zeros({1, 5, 5, 3})},
                                      {filter, Tensor::zeros({3, 3, 4, 8})}});
  EXPECT_THAT(found.status().message(),
              HasSubstr("has 3 channels, but the filter takes 4"));
  found = session.run(conv2d(x, filter),
                      {{x, Tensor::zeros({5})}, {filter, Tensor::zeros({5})}});
  EXPECT_THAT(found.status().message(), HasSubstr("rank 1, expected 4"));
  Value back = conv2d_backprop_input(shape, filter, grad);
  const auto run_back = [&](std::vector<int64_t> extents, Shape of_grad) {
    const auto count = static_cast<int64_t>(extents.size());
    return session.run(back, {{shape, Tensor::of<int64_t>({count}, extents)},
                              {filter, Tensor::zeros({3, 3, 3, 8})},
                              {grad, Tensor::zeros(of_grad)}});
  };
  EXPECT_THAT(run_back({1, 5, 5, 3}, {1, 3, 2, 8}).status().message(),
              HasSubstr("grad has shape [1, 3, 2, 8]"));
  EXPECT_THAT(run_back({1, 5, -5, 3}, {1, 3, 3, 8}).status().message(),
              HasSubstr("input_shape is"));
  EXPECT_THAT(run_back({1, 5}, {1, 3, 3, 8}).status().message(),
              HasSubstr("expected four extents"));
  EXPECT_TRUE(run_back({-1, 5, 5, 3}, {2, 3, 3, 8}).ok());
}

TEST(Conv, RunsOfSeveralShapesAtOnce) {
  Graph g;
  Value x = placeholder(g, {.shape = {kAny, 12, 12, 32}});
  Value filter = constant(g, random_tensor<float>({3, 3, 32, 32}, 1));
  Value y = conv2d(x, filter, options_of({1, 1}, "SAME"));
  Session session(g, {.intra_op_threads = 2});
  const auto run = [&](int64_t batch) {
    return session
        .run(y, {{x, random_tensor<float>({batch, 12, 12, 32},
                                          static_cast<int>(batch))}})
        .value();
  };
  std::vector<Tensor> alone;
  for (int64_t batch = 1; batch <= 4; ++batch) alone.push_back(run(batch));
  std::vector<std::thread> threads;
  std::vector<int> different(4);
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Tensor again = run(static_cast<int64_t>(t) + 1);
        different[t] +=
            std::memcmp(again.data(), alone[t].data(), again.bytes()) != 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(different, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace rondo
