#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/test_numbers.h"

namespace rondo {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

Value input(Graph& g, PartialShape shape) {
  return placeholder(g, {.dtype = DType::kF64, .shape = std::move(shape)});
}

void expect_gradient(Value y, const std::vector<Feed>& at) {
  const GradientCheck check = check_and_record(y, at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

std::string thrown(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

// Placeholders of these shapes, known or not, with numbers to feed.
struct Inputs {
  Graph g;
  std::vector<Value> values;
  std::vector<Feed> feeds;

  Inputs(const std::vector<Shape>& shapes, bool known) {
    for (const Shape& shape : shapes) {
      values.push_back(input(g, known ? PartialShape(shape) : PartialShape()));
      feeds.push_back({values.back(), numbers(shape, static_cast<unsigned>(
                                                         feeds.size() + 1))});
    }
  }
  Value operator[](size_t i) const { return values[i]; }
};

TEST(NnOps, BiasAddGradient) {
  for (const bool known : {true, false}) {
    const Inputs rows({{3, 4}, {4}}, known);
    expect_gradient(bias_add(rows[0], rows[1]), rows.feeds);
    const Inputs last({{2, 2, 3, 4}, {4}}, known);
    expect_gradient(bias_add(last[0], last[1]), last.feeds);
    const Inputs first({{2, 4, 2, 3}, {4}}, known);
    expect_gradient(bias_add(first[0], first[1], "NCHW"), first.feeds);
    const Inputs none({{0, 4}, {4}}, known);
    expect_gradient(bias_add(none[0], none[1]), none.feeds);
  }
}

TEST(NnOps, SoftmaxGradients) {
  for (const bool known : {true, false})
    for (const Shape& shape : {Shape{5}, Shape{3, 19}, Shape{2, 3, 4}})
      for (const int64_t axis : {-1, 0}) {
        const Inputs x({shape}, known);
        expect_gradient(softmax(x[0], axis), x.feeds);
        expect_gradient(log_softmax(x[0], axis), x.feeds);
      }
}

TEST(NnOps, SoftmaxKeepsNaN) {
  Graph g;
  std::vector<float> values(40, 1.0F);
  values[3] = NAN;
  const Value x = constant(g, Tensor::of<float>({1, 40}, values));
  Session session(g);
  for (const Value y : {softmax(x), log_softmax(x)})
    for (const float e : session.run(y).value().span<float>())
      EXPECT_TRUE(std::isnan(e));
}

TEST(NnOps, LossesGradients) {
  for (const bool known : {true, false})
    for (const Shape& shape : {Shape{5}, Shape{3, 19}, Shape{2, 3, 4}}) {
      const Inputs in({shape, shape}, known);
      expect_gradient(softmax_cross_entropy_with_logits(in[0], in[1]),
                      in.feeds);
      expect_gradient(sigmoid_cross_entropy_with_logits(in[0], in[1]),
                      in.feeds);
    }
}

TEST(NnOps, SparseLossGradient) {
  Graph g;
  const Value x = input(g, {kAny, 4});
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    const Value labels = placeholder(g, {.dtype = dtype, .shape = {kAny}});
    Tensor l = Tensor::zeros({3}, dtype);
    if (dtype == DType::kI32)
      l.span<int32_t>()[1] = 3;
    else
      l.span<int64_t>()[1] = 3;
    const Value loss = sparse_softmax_cross_entropy_with_logits(x, labels);
    expect_gradient(loss, {{x, numbers({3, 4}, 1)}, {labels, l}});
  }
}

TEST(NnOps, SparseLossRefusesOtherLabels) {
  Graph g;
  const Value x = input(g, {2, 4});
  const Value labels = placeholder(g, {.dtype = DType::kI64, .shape = {2}});
  const Value loss = sparse_softmax_cross_entropy_with_logits(x, labels);
  Session session(g);
  for (const int64_t wrong : {-1, 4}) {
    auto result = session.run(
        {loss},
        {{x, numbers({2, 4}, 1)},
         {labels, Tensor::of<int64_t>({2}, std::vector<int64_t>{0, wrong})}});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(
        result.status().message(),
        HasSubstr(fmt::format("label {} of row 1 is out of range: there are 4 "
                              "classes",
                              wrong)));
  }
}

TEST(NnOps, NoGradientThroughWhatIsForTheGradient) {
  Graph g;
  const Value x = input(g, {2, 4});
  const Value one = ones(g, {4}, DType::kF64);
  const Value ys[] = {fused_batch_norm({x, one, one}).batch_mean};
  const Value xs[] = {x};
  EXPECT_THAT(thrown([&] { gradients(ys, xs); }), HasSubstr("\"batch_mean\""));
}

TEST(NnOps, DropoutGradientAndRate) {
  Graph g;
  const Value x = input(g, {});
  const Value random = constant(g, numbers({3, 21}, 9, 0, 1));
  expect_gradient(make("Dropout", {x, random}, {{"rate", 0.4}}),
                  {{x, numbers({3, 21}, 1)}});
  EXPECT_EQ(dropout(x, {.rate = 0}), x);
  EXPECT_THAT(thrown([&] { dropout(x, {.rate = 1}); }),
              HasSubstr("the rate is 1"));
}

TEST(NnOps, DropoutKeepsTheMean) {
  Graph g;
  const Value x = ones(g, {10000});
  Session session(g);
  const Tensor y = session.run(dropout(x, {.rate = 0.25, .seed = 3})).value();
  double sum = 0;
  int64_t kept = 0;
  for (const float e : y.span<float>()) {
    EXPECT_TRUE(e == 0 || std::abs(e - 4.0F / 3) < 1e-6F);
    sum += e;
    kept += e != 0;
  }
  EXPECT_NEAR(sum / 10000, 1, 0.05);
  EXPECT_NEAR(static_cast<double>(kept) / 10000, 0.75, 0.03);
}

TEST(NnOps, LayerNormGradient) {
  for (const bool known : {true, false})
    for (const Shape& shape : {Shape{5}, Shape{3, 19}, Shape{2, 3, 4}}) {
      const Shape n{shape[shape.rank() - 1]};
      const Inputs in({shape, n, n}, known);
      expect_gradient(layer_norm(in[0], in[1], in[2]), in.feeds);
    }
}

TEST(NnOps, LayerNormOfManyRows) {
  // More than one thread's share.
  Graph g;
  const Value x = ones(g, {4096, 64});
  const Value scale = ones(g, {64}), offset = fill(g, {64}, 2);
  const Value y = layer_norm(x, scale, offset);
  const Value ys[] = {y}, xs[] = {scale, offset};
  Session session(g);
  EXPECT_THAT(session.run(y).value().span<float>(), Each(2.0F));
  const auto grads = gradients(ys, xs);
  EXPECT_THAT(session.run(grads[1].values).value().span<float>(),
              Each(4096.0F));
}

TEST(NnOps, BatchNormGradient) {
  for (const bool known : {true, false})
    for (const bool last : {true, false})
      for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 2, 3}}) {
        const Inputs in({shape, {3}, {3}}, known);
        const BatchNormOptions options{.data_format = last ? "NHWC" : "NCHW",
                                       .is_training = true};
        expect_gradient(fused_batch_norm({in[0], in[1], in[2]}, options).y,
                        in.feeds);
        Inputs given({shape, {3}, {3}, {3}, {3}}, known);
        for (double& v : given.feeds[4].tensor.span<double>()) v += 2;
        expect_gradient(
            fused_batch_norm(
                {given[0], given[1], given[2], given[3], given[4]},
                {.data_format = options.data_format, .is_training = false})
                .y,
            given.feeds);
      }
}

TEST(NnOps, BatchNormByHand) {
  Graph g;
  const Value x =
      constant(g, Tensor::of<float>({4, 1}, std::vector<float>{1, 2, 3, 6}));
  const BatchNorm norm =
      fused_batch_norm({x, ones(g, {1}), ones(g, {1})}, {.epsilon = 0});
  Session session(g);
  EXPECT_THAT(session.run(norm.batch_mean).value().span<float>(),
              ElementsAre(3));
  EXPECT_THAT(session.run(norm.batch_variance).value().span<float>(),
              ElementsAre(testing::FloatEq(14.0F / 3)));
  EXPECT_NEAR(session.run(norm.y).value().span<float>()[3],
              1 + 3 / std::sqrt(3.5), 1e-6);
  EXPECT_THAT(thrown([&] {
                fused_batch_norm({x, ones(g, {1}), ones(g, {1})},
                                 {.is_training = false});
              }),
              HasSubstr("mean and variance must be given"));
  EXPECT_THAT(thrown([&] {
                fused_batch_norm({x, ones(g, {2}), ones(g, {1})});
              }),
              HasSubstr("scale has shape [2], expected [1]"));
}

TEST(NnOps, LrnGradient) {
  for (const double beta : {0.5, 0.75, 0.6})
    for (const int64_t radius : {0, 1, 5}) {
      const Inputs x({{2, 2, 4}}, false);
      expect_gradient(lrn(x[0], {.depth_radius = radius,
                                 .bias = 1.5,
                                 .alpha = 0.7,
                                 .beta = beta}),
                      x.feeds);
    }
}

TEST(NnOps, CellsGradients) {
  for (const bool known : {true, false}) {
    // 9 units: whole vectors and a rest.
    const Inputs gates({{2, 36}, {2, 36}, {2, 9}}, known);
    const Value h = make("LSTMGates", {gates[0], gates[1], gates[2]});
    expect_gradient(h, gates.feeds);
    expect_gradient(h.node->output(1), gates.feeds);
    const Inputs gru({{2, 27}, {2, 27}, {2, 9}}, known);
    expect_gradient(make("GRUGates", {gru[0], gru[1], gru[2]}), gru.feeds);
    const Inputs lstm({{2, 3}, {2, 4}, {2, 4}, {3, 16}, {4, 16}, {16}}, known);
    const CellState state =
        lstm_cell(lstm[0], {lstm[1], lstm[2]}, {lstm[3], lstm[4], lstm[5]});
    expect_gradient(state.h, lstm.feeds);
    expect_gradient(state.c, lstm.feeds);
    const Inputs unit({{2, 3}, {2, 4}, {3, 12}, {4, 12}, {12}, {12}}, known);
    expect_gradient(
        gru_cell(unit[0], unit[1], {unit[2], unit[3], unit[4]}, unit[5]),
        unit.feeds);
  }
}

TEST(NnOps, AttentionGradient) {
  const Inputs in({{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}}, true);
  for (const bool causal : {false, true})
    expect_gradient(
        scaled_dot_product_attention(in[0], in[1], in[2], {.causal = causal}),
        in.feeds);
  const Inputs masked({{2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {3, 3}}, false);
  expect_gradient(
      scaled_dot_product_attention(masked[0], masked[1], masked[2],
                                   {.mask = masked[3], .scale = 0.3}),
      masked.feeds);
  EXPECT_THAT(thrown([&] {
                scaled_dot_product_attention(masked[0], masked[1], masked[2]);
              }),
              HasSubstr("expected a known depth"));
}

TEST(NnOps, CausalAttentionSeesNothingAhead) {
  Graph g;
  const Value q = ones(g, {2, 1});
  const Value v =
      constant(g, Tensor::of<float>({2, 1}, std::vector<float>{1, 3}));
  Session session(g);
  const Tensor y =
      session.run(scaled_dot_product_attention(q, q, v, {.causal = true}))
          .value();
  EXPECT_THAT(y.span<float>(), ElementsAre(1, 2));
}

TEST(NnOps, CausalAttentionOfLengthsKnownInTheRunOnly) {
  Graph g;
  const Tensor query = Tensor::full<double>({1, 2, 1}, 1);
  const Tensor key = Tensor::full<double>({1, 4, 1}, 1);
  const Tensor value =
      Tensor::of<double>({1, 4, 1}, std::vector<double>{1, 3, 5, 11});
  const Value q = input(g, {1, kAny, 1});
  const Value k = input(g, {1, kAny, 1});
  const Value v = input(g, {1, kAny, 1});
  Session session(g);
  const Tensor y =
      session
          .run(scaled_dot_product_attention(q, k, v, {.causal = true}),
               {{q, query}, {k, key}, {v, value}})
          .value();
  // The last query is in the last key's place: the means of three and of four.
  EXPECT_THAT(y.span<double>(),
              ElementsAre(testing::DoubleEq(3), testing::DoubleEq(5)));
}

TEST(NnOps, WrongShapesAreRefused) {
  Graph g;
  const Value x = input(g, {2, 3});
  EXPECT_THAT(thrown([&] { bias_add(x, input(g, {2})); }),
              HasSubstr("has 3 channels (NHWC), the bias 2 elements"));
  EXPECT_THAT(thrown([&] { bias_add(x, input(g, {3}), "CHWN"); }),
              HasSubstr("expected \"NHWC\" or \"NCHW\""));
  EXPECT_THAT(thrown([&] {
                softmax_cross_entropy_with_logits(x, input(g, {3, 3}));
              }),
              HasSubstr("logits have shape [2, 3], labels [3, 3]"));
  EXPECT_THAT(thrown([&] { softmax(x, 2); }), HasSubstr("axis"));
  const Value a = input(g, {}), b = input(g, {});
  Session session(g);
  auto result = session.run({bias_add(a, b)},
                            {{a, numbers({2, 3}, 1)}, {b, numbers({2}, 1)}});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(),
              HasSubstr("the bias has shape [2], expected [3]"));
}

}  // namespace
}  // namespace rondo
