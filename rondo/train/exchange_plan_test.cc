#include "rondo/train/exchange_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/train/exchanged_gradients.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;

// Two layers of 3 and 5 units on 4 inputs, with a bias between them.
struct Model {
  explicit Model(int64_t rows = kAny) {
    x = placeholder(graph, {.shape = {rows, 4}, .name = "x"});
    const auto weight = [&](const Shape& shape, const char* name) {
      return variable(graph, zeros(graph, shape), {.name = name});
    };
    const Value product = matmul(x, weight({4, 3}, "w1"));
    hidden = product + weight({3}, "b");
    y = matmul(hidden, weight({3, 5}, "w2"));
    gradients = Optimizer::compute_gradients(reduce_sum(y * y));
  }
  Graph graph;
  Value x, hidden, y;
  std::vector<GradientAndVariable> gradients;
};

GradientExchange of_two(FactorUse use, DType wire = DType::kF32) {
  return {.group = "g", .size = 2, .wire = wire, .factors = {.use = use}};
}

// What was added to a graph from node `first` on; those of before are shown by
// name.
std::vector<std::string> added(const Graph& graph, size_t first) {
  std::vector<std::string> lines;
  for (size_t i = first; i < graph.nodes().size(); ++i) {
    const Node& node = *graph.nodes()[i];
    std::string inputs;
    for (const Value& input : node.inputs())
      inputs += fmt::format("{}{}", inputs.empty() ? "" : ", ", input.name());
    lines.push_back(
        fmt::format("{} = {}({})", node.name(), node.op().name, inputs));
  }
  return lines;
}

std::vector<std::string> rewritten(Model& model,
                                   const GradientExchange& exchange) {
  const size_t before = model.graph.nodes().size();
  model.gradients = exchanged_gradients(
      model.gradients, exchange, plan_exchange(model.gradients, exchange));
  return added(model.graph, before);
}

TEST(ExchangePlan, WithoutFactorsAllAreInABucket) {
  Model model;
  const std::string w1 = model.gradients[0].gradient.values.name();
  const std::string b = model.gradients[1].gradient.values.name();
  const std::string w2 = model.gradients[2].gradient.values.name();
  EXPECT_THAT(rewritten(model, of_two(FactorUse::kOff)),
              ElementsAre(fmt::format("g/bucket_0 = AllReduce({}, {}, {})", w2,
                                      b, w1)));
  EXPECT_EQ(model.gradients[0].gradient.values.name(), "g/bucket_0:2");
}

TEST(ExchangePlan, FactorsAreGatheredInTheOrderOfBothPassesAndMultiplied) {
  Model model;
  const std::string dy1 =
      model.gradients[0].gradient.values.node->input(1).name();
  const std::string b = model.gradients[1].gradient.values.name();
  const std::string dy2 =
      model.gradients[2].gradient.values.node->input(1).name();
  EXPECT_THAT(
      rewritten(model, of_two(FactorUse::kOn)),
      ElementsAre(
          "g/factor_0 = AllGather(x)",
          fmt::format("g/factor_1 = AllGather({})", model.hidden.name()),
          fmt::format("g/factor_2 = AllGather({})", dy2),
          fmt::format("g/factor_3 = AllGather({})", dy1),
          fmt::format("g/bucket_4 = AllReduce({})", b), "g/Const = Const()",
          "g/Mul = Mul(g/factor_3, g/Const)",
          "g/MatMul = MatMul(g/factor_0, g/Mul)", "g/Const_1 = Const()",
          "g/Mul_1 = Mul(g/factor_2, g/Const_1)",
          "g/MatMul_1 = MatMul(g/factor_1, g/Mul_1)"));
  EXPECT_EQ(model.gradients[0].gradient.values.name(), "g/MatMul");
  EXPECT_EQ(model.gradients[1].gradient.values.name(), "g/bucket_4");
  EXPECT_EQ(model.gradients[2].gradient.values.name(), "g/MatMul_1");
  EXPECT_EQ(model.gradients[0].gradient.values.shape(), (PartialShape{4, 3}));
}

TEST(ExchangePlan, FactorsOfTheForwardPassWaitForTheBackwardPass) {
  Model model;
  Node* const dy2 = model.gradients[2].gradient.values.node->input(1).node;
  rewritten(model, of_two(FactorUse::kOn));
  const auto before = [&](const char* name) {
    return model.graph.find(name)->control_inputs();
  };
  EXPECT_THAT(before("g/factor_0"), ElementsAre(dy2));
  EXPECT_THAT(before("g/factor_1"), ElementsAre(dy2));
  EXPECT_THAT(before("g/factor_2"), ElementsAre());
  EXPECT_THAT(before("g/factor_3"), ElementsAre());
}

TEST(ExchangePlan, AFactorOfSeveralLayersTravelsOnce) {
  Graph graph;
  const Value x = placeholder(graph, {.shape = {8, 4}, .name = "x"});
  Value sum;
  for (const char* name : {"query", "key"}) {
    const Value y =
        matmul(x, variable(graph, zeros(graph, {4, 3}), {.name = name}));
    sum = sum ? sum + reduce_sum(y * y) : reduce_sum(y * y);
  }
  const auto gradients = Optimizer::compute_gradients(sum);
  const ExchangePlan plan = plan_exchange(gradients, of_two(FactorUse::kOn));
  ASSERT_EQ(plan.items.size(), 3U);
  EXPECT_EQ(plan.items[0].factor, x);
  EXPECT_EQ(to_text(plan.travels),
            "query: factors, 224 bytes\n"
            "key: factors, 96 bytes\n");
}

TEST(ExchangePlan, SaysHowEachGradientTravels) {
  Model model;
  EXPECT_EQ(
      to_text(plan_exchange(model.gradients, of_two(FactorUse::kOff)).travels),
      "w1: bucket, 48 bytes\nb: bucket, 12 bytes\nw2: bucket, 60 bytes\n");
  EXPECT_EQ(to_text(plan_exchange(model.gradients,
                                  of_two(FactorUse::kOn, DType::kBF16))
                        .travels),
            "w1: factors, 14 bytes a row\nb: bucket, 6 bytes\n"
            "w2: factors, 16 bytes a row\n");
}

TEST(ExchangePlan, SparseGradientsAreRows) {
  Graph graph;
  const Value table = variable(graph, zeros(graph, {10, 2}), {.name = "table"});
  const Value at = placeholder(graph, {.dtype = DType::kI64, .shape = {kAny}});
  const auto gradients =
      Optimizer::compute_gradients(reduce_sum(gather(table, at)));
  EXPECT_EQ(to_text(plan_exchange(gradients, of_two(FactorUse::kOn)).travels),
            "table: rows, 16 bytes a row\n");
}

TEST(ExchangePlan, LeftToItselfItTakesWhatIsCheaper) {
  const double much = 1e30;
  GradientExchange exchange = of_two(FactorUse::kAuto);
  exchange.factors.flop_rate = much;
  const auto how = [&](const Model& model) {
    std::vector<std::string> ways;
    for (const Travel& travel :
         plan_exchange(model.gradients, exchange).travels)
      ways.emplace_back(travel.how);
    return ways;
  };
  EXPECT_THAT(how(Model(1)), ElementsAre("factors", "bucket", "factors"));
  // 14 numbers instead of 12, and 16 instead of 15.
  EXPECT_THAT(how(Model(2)), ElementsAre("bucket", "bucket", "bucket"));
  EXPECT_THAT(how(Model()), ElementsAre("bucket", "bucket", "bucket"));
  exchange.factors.rows = 1;
  EXPECT_THAT(how(Model()), ElementsAre("factors", "bucket", "factors"));
}

// Products in bf16 of variables in f32: the factors are half as wide as the
// gradient.
TEST(ExchangePlan, NarrowFactorsCountAsTheyTravel) {
  Graph graph;
  const Value x = placeholder(graph, {.dtype = DType::kBF16, .shape = {2, 4}});
  const Value w = variable(graph, zeros(graph, {4, 3}), {.name = "w"});
  const Value y = cast(matmul(x, cast(w, DType::kBF16)), DType::kF32);
  const auto gradients = Optimizer::compute_gradients(reduce_sum(y * y));
  GradientExchange exchange = of_two(FactorUse::kAuto);
  exchange.factors.flop_rate = 1e30;
  // 14 numbers of 2 bytes instead of 12 of 4.
  EXPECT_EQ(to_text(plan_exchange(gradients, exchange).travels),
            "w: factors, 28 bytes\n");
  exchange.wire = DType::kBF16;
  EXPECT_EQ(to_text(plan_exchange(gradients, exchange).travels),
            "w: bucket, 24 bytes\n");
}

}  // namespace
}  // namespace rondo
