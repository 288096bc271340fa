#include "rondo/train/factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

constexpr ElementSizes k32 = {.gradient = 4, .factor = 4};

// x·w, or x·wᵀ, and the gradient of w.
struct Layer {
  explicit Layer(bool transposed = false, int64_t rows = kAny) {
    x = placeholder(graph, {.shape = {rows, 3}, .name = "x"});
    w = variable(graph, zeros(graph, transposed ? Shape{5, 3} : Shape{3, 5}),
                 {.name = "w"});
    product = matmul(x, w, {.transpose_b = transposed});
  }
  Value gradient() { return gradient_of(w); }
  Value gradient_of(Value value) {
    return dense_gradients(std::vector{reduce_sum(make("Square", {product}))},
                           std::vector{value})[0];
  }
  Graph graph;
  Value x, w, product;
};

TEST(Factors, TheEnvironmentMaySayWhatOptionsLeaveOpen) {
  const auto read = [](const char* name, const char* text,
                       FactorOptions options = {}) -> Result<FactorOptions> {
    RONDO_RETURN_IF_ERROR(read_factor_options(
        Env(std::map<std::string, std::string>{{name, text}}), options));
    return options;
  };
  EXPECT_EQ(read("RONDO_LINK", "1gbit").value().link_rate, 125e6);
  EXPECT_EQ(read("RONDO_FLOPS", "18.3G").value().flop_rate, 18.3e9);
  EXPECT_EQ(read("RONDO_FLOPS", "18.3G").value().link_rate, 0);
  EXPECT_EQ(read("RONDO_LINK", "1gbit", {.link_rate = 3}).value().link_rate, 3);
  EXPECT_EQ(read("RONDO_FACTOR_ROWS", "32").value().rows, 32);
  EXPECT_EQ(read("RONDO_FACTOR_ROWS", "32", {.rows = 8}).value().rows, 8);
  EXPECT_EQ(read("RONDO_FACTORS", "off").value().use, FactorUse::kOff);
  EXPECT_EQ(read("RONDO_FACTORS", "off", {.use = FactorUse::kOn}).value().use,
            FactorUse::kOn);
  EXPECT_THAT(read("RONDO_FACTORS", "no").status().message(),
              testing::HasSubstr("RONDO_FACTORS: factors is \"no\""));
  EXPECT_THAT(read("RONDO_LINK", "fast").status().message(),
              testing::HasSubstr(
                  "RONDO_LINK: \"fast\" is no rate: write it like 1gbit"));
  EXPECT_THAT(read("RONDO_FLOPS", "-1").status().message(),
              testing::HasSubstr("RONDO_FLOPS: \"-1\""));
  EXPECT_THAT(read("RONDO_FACTOR_ROWS", "0.5").status().message(),
              testing::HasSubstr("RONDO_FACTOR_ROWS: \"0.5\""));
}

TEST(Factors, OfALayerAreItsInputAndTheGradientOfItsOutput) {
  Layer layer;
  const Value gradient = layer.gradient();
  const auto factors = factors_of(gradient);
  ASSERT_TRUE(factors);
  EXPECT_EQ(factors->left, layer.x);
  EXPECT_EQ(factors->right, gradient.node->input(1));
  EXPECT_TRUE(factors->way.empty());
}

TEST(Factors, OfATransposedWeightChangePlaces) {
  Layer layer(true);
  const auto factors = factors_of(layer.gradient());
  ASSERT_TRUE(factors);
  EXPECT_EQ(factors->right, layer.x);
}

// As where products are computed in bf16 and variables are f32.
TEST(Factors, AreFoundBehindACast) {
  Graph graph;
  const Value x = placeholder(graph, {.shape = {kAny, 3}});
  const Value w = variable(graph, zeros(graph, Shape{3, 5}));
  const Value narrow = cast(x, DType::kBF16);
  const Value y = cast(matmul(narrow, cast(w, DType::kBF16)), DType::kF32);
  const Value gradient = dense_gradients(
      std::vector{reduce_sum(make("Square", {y}))}, std::vector{w})[0];
  const auto factors = factors_of(gradient);
  ASSERT_TRUE(factors);
  EXPECT_EQ(factors->left, narrow);
  EXPECT_EQ(factors->right.dtype(), DType::kBF16);
  EXPECT_EQ(product_of(*factors).dtype(), DType::kF32);
}

TEST(Factors, AreFoundBehindReshapes) {
  Layer layer;
  const Value shaped = identity(reshape(layer.gradient(), Ints{15}));
  auto factors = factors_of(shaped);
  ASSERT_TRUE(factors);
  ASSERT_EQ(factors->way.size(), 2U);
  const Value again = product_of(*factors);
  EXPECT_EQ(again.node->op().name, "Identity");
  EXPECT_EQ(again.node->input(0).node->op().name, "Reshape");
  EXPECT_EQ(again.shape(), PartialShape{15});
  EXPECT_EQ(factors_of(again)->left, layer.x);
}

TEST(Factors, OthersHaveNone) {
  Layer layer;
  EXPECT_FALSE(factors_of(layer.gradient() * 2.0F));
  // g·wᵀ has its rows in front of the product, not within it.
  EXPECT_FALSE(factors_of(layer.gradient_of(layer.x)));
}

TEST(Factors, TheirUseHasNames) {
  EXPECT_EQ(parse_factor_use("on").value(), FactorUse::kOn);
  EXPECT_THAT(parse_factor_use("yes").status().message(),
              testing::HasSubstr("expected auto, on or off"));
}

TEST(Factors, AnUnknownBatchPaysOnlyWhenItIsGiven) {
  Graph graph;
  const auto factor = [&](int64_t rows, int64_t columns) {
    return placeholder(graph, {.shape = {rows, columns}});
  };
  // VGG-16's first layer of this kind, on four ranks.
  const Factors unknown{factor(kAny, 25088), factor(kAny, 4096)};
  EXPECT_EQ(rows_of(unknown, {}), kAny);
  EXPECT_FALSE(factors_pay(unknown, k32, 4, {}));
  EXPECT_TRUE(factors_pay(unknown, k32, 4, {.rows = 32}));
  const Factors known{factor(kAny, 25088), factor(32, 4096)};
  EXPECT_EQ(rows_of(known, {.rows = 7}), 32);
  EXPECT_TRUE(factors_pay(known, k32, 4, {}));
}

TEST(Factors, PayByBatchLinkAndArithmetic) {
  Graph graph;
  const Factors f{placeholder(graph, {.shape = {kAny, 1000}}),
                  placeholder(graph, {.shape = {kAny, 1000}})};
  // On two ranks 4 MB are sent, or 8 kB a row; a row costs 2 million
  // operations. By bytes alone, fewer than 500 rows pay.
  const double much = 1e30;
  EXPECT_TRUE(factors_pay(f, k32, 2, {.rows = 499, .flop_rate = much}));
  EXPECT_FALSE(factors_pay(f, k32, 2, {.rows = 501, .flop_rate = much}));
  // Of factors in bf16, twice as many.
  const ElementSizes narrow{.gradient = 4, .factor = 2};
  EXPECT_TRUE(factors_pay(f, narrow, 2, {.rows = 999, .flop_rate = much}));
  EXPECT_FALSE(factors_pay(f, narrow, 2, {.rows = 1001, .flop_rate = much}));
  // 4 ms of a link of 1 GB/s, against 100 · (8 µs + 20 µs), or 100 · (8 µs +
  // 50 µs).
  FactorOptions options{.rows = 100, .link_rate = 1e9, .flop_rate = 1e11};
  EXPECT_TRUE(factors_pay(f, k32, 2, options));
  options.flop_rate = 4e10;
  EXPECT_FALSE(factors_pay(f, k32, 2, options));
  // Half the time on a slower link is less to save on a quicker one.
  options.link_rate = 1e8;
  EXPECT_TRUE(factors_pay(f, k32, 2, options));
}

}  // namespace
}  // namespace rondo
