// What passes fuse, against the same operations one by one: a session that also
// fetches what is between them cannot fuse them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Tensor random_tensor(const Shape& shape, int seed) {
  std::mt19937 generator(static_cast<unsigned>(seed));
  std::uniform_real_distribution<float> any(-1, 1);
  Tensor t = Tensor::empty(shape);
  for (float& x : t.span<float>()) x = any(generator);
  return t;
}

struct Run {
  Tensor value;
  std::vector<std::string> ops;
};

Run run(Graph& g, Value y, const std::vector<Feed>& feeds,
        const std::vector<Value>& also = {}) {
  Session session(g);
  std::vector<Value> fetches = {y};
  fetches.insert(fetches.end(), also.begin(), also.end());
  Timeline timeline;
  Run run;
  run.value =
      session.run(fetches, feeds, {}, {.timeline = &timeline}).value()[0];
  for (const auto& event : timeline.events()) run.ops.push_back(event.op);
  return run;
}

// Fused and one by one.
void expect_equal(Graph& g, Value y, const std::vector<Value>& between,
                  const std::vector<Feed>& feeds, const char* op,
                  float tolerance) {
  const Run fused = run(g, y, feeds);
  const Run apart = run(g, y, feeds, between);
  EXPECT_THAT(fused.ops, Contains(op));
  EXPECT_THAT(apart.ops, Not(Contains(op)));
  ASSERT_EQ(fused.value.shape(), apart.value.shape());
  const auto a = fused.value.span<float>();
  const auto b = apart.value.span<float>();
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << op << " element " << i;
}

TEST(FusedMatMul, EveryActivation) {
  using Activate = Value (*)(Value);
  const Activate all[] = {
      [](Value x) { return relu(x); },
      [](Value x) { return leaky_relu(x, 0.2); },
      [](Value x) { return elu(x); },
      [](Value x) { return gelu(x, false); },
      [](Value x) { return gelu(x, true); },
      [](Value x) { return sigmoid(x); },
      [](Value x) { return tanh(x); },
      [](Value x) { return x; },
  };
  int seed = 0;
  for (const Activate activate : all)
    for (const Shape& shape : {Shape{5, 7}, Shape{1, 1}, Shape{64, 300}}) {
      Graph g;
      Value x = placeholder(g, {.shape = {kAny, shape[1]}});
      Value w = placeholder(g, {.shape = {shape[1], 33}});
      Value b = placeholder(g, {.shape = {33}});
      Value product = matmul(x, w);
      Value sum = bias_add(product, b);
      expect_equal(g, activate(sum), {product, sum},
                   {{x, random_tensor(shape, ++seed)},
                    {w, random_tensor({shape[1], 33}, ++seed)},
                    {b, random_tensor({33}, ++seed)}},
                   "FusedMatMul", 2e-5F);
    }
}

TEST(FusedMatMul, TransposedFactorsAndNothingToAdd) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const int64_t inner : {9, 0}) {
        Graph g;
        const Shape a = ta ? Shape{inner, 6} : Shape{6, inner};
        const Shape b = tb ? Shape{20, inner} : Shape{inner, 20};
        Value x = placeholder(g, {.shape = PartialShape(a)});
        Value w = placeholder(g, {.shape = PartialShape(b)});
        Value bias = placeholder(g, {.shape = {20}});
        Value product = matmul(x, w, {.transpose_a = ta, .transpose_b = tb});
        Value y = relu(product + bias);
        expect_equal(g, y, {product},
                     {{x, random_tensor(a, 1)},
                      {w, random_tensor(b, 2)},
                      {bias, random_tensor({20}, 3)}},
                     "FusedMatMul", 1e-5F);
      }
}

TEST(FusedConv2D, BothLayoutsAndWinograd) {
  for (const char* format : {"NHWC", "NCHW"})
    for (const int64_t channels : {3, 32})
      for (const int64_t size : {1, 3, 5}) {
        const bool last = format[1] == 'H';
        const Shape image =
            last ? Shape{2, 12, 13, channels} : Shape{2, channels, 12, 13};
        Graph g;
        Value x = placeholder(g, {.shape = PartialShape(image)});
        Value w = placeholder(g, {.shape = {size, size, channels, 32}});
        Value b = placeholder(g, {.shape = {32}});
        Conv2DOptions options;
        options.data_format = format;
        Value y = conv2d(x, w, options);
        Value sum = bias_add(y, b, format);
        expect_equal(g, relu(sum), {y, sum},
                     {{x, random_tensor(image, 1)},
                      {w, random_tensor({size, size, channels, 32}, 2)},
                      {b, random_tensor({32}, 3)}},
                     "FusedConv2D", 1e-4F);
      }
}

TEST(FusedConv2D, OfNoChannels) {
  for (const bool last : {true, false}) {
    Graph g;
    const Shape shape = last ? Shape{1, 4, 5, 0} : Shape{1, 0, 4, 5};
    const Value x = placeholder(g, {.shape = PartialShape(shape)});
    const Value w = placeholder(g, {.shape = {3, 3, 0, 2}});
    const Value b = placeholder(g, {.shape = {2}});
    Conv2DOptions options;
    options.data_format = last ? "NHWC" : "NCHW";
    const Value product = conv2d(x, w, options);
    expect_equal(g, elu(bias_add(product, b, options.data_format)), {product},
                 {{x, Tensor::zeros(shape)},
                  {w, Tensor::zeros({3, 3, 0, 2})},
                  {b, Tensor::of<float>({2}, std::vector<float>{-1, 2})}},
                 "FusedConv2D", 1e-6F);
  }
}

TEST(FusedConv2D, AWrongBiasIsRefused) {
  Graph g;
  Value x = placeholder(g, {.shape = {1, 4, 4, 2}});
  Value w = placeholder(g, {.shape = {1, 1, 2, 3}});
  Value b = placeholder(g, {.shape = {kAny}});
  Value y = make("FusedConv2D", {x, w, b});
  Session session(g);
  const auto result = session.run({y}, {{x, Tensor::zeros({1, 4, 4, 2})},
                                        {w, Tensor::zeros({1, 1, 2, 3})},
                                        {b, Tensor::zeros({2})}});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("3 channels, the bias 2"));
}

TEST(FusedElementwise, BroadcastingAndLongRows) {
  for (const Shape& wide :
       {Shape{3, 5}, Shape{2, 3, 1700}, Shape{100000}, Shape{0, 4}}) {
    const int64_t width = wide[wide.rank() - 1];
    Graph g;
    Value x = placeholder(g, {.shape = PartialShape(wide)});
    Value row = placeholder(g, {.shape = {width}});
    Value one = placeholder(g, {.shape = PartialShape(Shape{})});
    Value a = x * row;
    Value b = tanh(a);
    Value c = b - one;
    Value d = make("ReluGrad", {x, c});
    Value e = maximum(d, one);
    Value y = make("AddN", {e, x, e});
    expect_equal(g, y, {a, b, c, d, e},
                 {{x, random_tensor(wide, 1)},
                  {row, random_tensor({width}, 2)},
                  {one, random_tensor({}, 3)}},
                 "FusedElementwise", 0);
  }
}

TEST(FusedElementwise, ScalarsThroughLoopsOfWholeRows) {
  Graph g;
  Value x = placeholder(g, {.shape = {4, 700}});
  Value one = placeholder(g, {.shape = {1, 1}});
  Value two = placeholder(g, {.shape = {1, 1}});
  Value sum = one + two;
  Value y = make("FusedElementwise", {x, one, two},
                 {{"program", std::string("Add x1 x2; Exp x1; SigmoidGrad x1 "
                                          "t1; Mul t0 t2; Sub x0 t3")}});
  Value same = x - sum * make("SigmoidGrad", {one, exp(one)});
  Session session(g);
  const auto values =
      session
          .run({y, same, sum}, {{x, random_tensor({4, 700}, 1)},
                                {one, random_tensor({1, 1}, 2)},
                                {two, random_tensor({1, 1}, 3)}})
          .value();
  for (size_t i = 0; i < 2800; ++i)
    ASSERT_FLOAT_EQ(values[0].span<float>()[i], values[1].span<float>()[i]);
}

TEST(FusedElementwise, NonsenseIsRefused) {
  for (const char* program :
       {"", "Fly x0", "Add x0", "Add x0 x1 x0", "Exp t0", "Exp x7", "Exp x-1",
        "LeakyRelu:a x0", "Exp x0;", ";"}) {
    Graph g;
    Value x = placeholder(g, {.shape = {4}});
    Value y = placeholder(g, {.shape = {4}});
    Value z =
        make("FusedElementwise", {x, y}, {{"program", std::string(program)}});
    Session session(g);
    const auto result =
        session.run({z}, {{x, Tensor::zeros({4})}, {y, Tensor::zeros({4})}});
    if (std::string(program) == "Exp x0;") {
      EXPECT_TRUE(result.ok());
      continue;
    }
    ASSERT_FALSE(result.ok()) << program;
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("program"));
  }
}

}  // namespace
}  // namespace rondo
