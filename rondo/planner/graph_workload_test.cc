#include "rondo/planner/graph_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gathering.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/plan/closed_forms.h"
#include "rondo/planner/model_workload.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;

double bytes_of(const std::vector<PlannedExchange>& exchanges) {
  return std::accumulate(
      exchanges.begin(), exchanges.end(), 0.0,
      [](double sum, const PlannedExchange& one) { return sum + one.bytes; });
}

Workload estimated(const TrainingStep& step) {
  settle_shapes(step, 32);
  return workload_of(step, 32, estimated_times(step, 32, {}));
}

Workload of_model(const std::string& model) {
  return estimated(model_step(model).value());
}

TEST(GraphWorkload, Vgg16HasTheDocumentsBytes) {
  const Workload workload = of_model("vgg16");
  EXPECT_NEAR(workload.bytes(), 553.43e6, 0.01e6);
  EXPECT_NEAR(bytes_of(workload.buckets), workload.bytes(), 1);
  EXPECT_NEAR(bytes_of(workload.keys), workload.bytes(), 1);
  EXPECT_EQ(workload.keys.size(), 32u);
  // Forward and backward of 32 images are 3 * 15.5e9 * 2 operations each.
  EXPECT_NEAR(workload.step_seconds, 32 * 3 * 15.5e9 * 2 / 3e10, 15);
}

TEST(GraphWorkload, GradientsComeLastLayerFirst) {
  const Workload workload = of_model("vgg16");
  EXPECT_TRUE(
      std::ranges::is_sorted(workload.buckets, {}, &PlannedExchange::ready));
  // The fully connected layers, of most bytes, are there when the forward pass
  // is hardly over; the first convolution's only at the end.
  EXPECT_LT(workload.buckets.front().ready, 0.4);
  EXPECT_GT(workload.buckets.back().ready, 0.9);
}

// All that is behind the last gradient updates something, and each exchange has
// its share of that.
TEST(GraphWorkload, UpdatesAreBehindTheLastGradient) {
  const auto updates = [](const std::vector<PlannedExchange>& exchanges) {
    double share = 0;
    for (const PlannedExchange& one : exchanges) share += one.update;
    return share;
  };
  const Workload workload = of_model("mlp");
  EXPECT_GT(updates(workload.buckets), 0.1);
  EXPECT_NEAR(updates(workload.buckets), 1 - workload.buckets.back().ready,
              0.02);
  EXPECT_NEAR(updates(workload.keys), updates(workload.buckets), 1e-9);
  EXPECT_NEAR(
      updates(workload.with_factors(4, {.link = 125e6, .flop_rate = 1e11})),
      updates(workload.buckets), 1e-9);
}

TEST(GraphWorkload, FactorsOfFullyConnectedLayers) {
  const Workload workload = of_model("vgg16");
  ASSERT_TRUE(workload.with_factors);
  const auto exchanges =
      workload.with_factors(4, {.link = 125e6, .flop_rate = 1e11});
  const auto gathered =
      std::ranges::count_if(exchanges, &PlannedExchange::gather);
  EXPECT_EQ(gathered, 6);
  // 32 rows of 25088 + 4096, 4096 + 4096 and 4096 + 1000 numbers.
  double factors = 0, flops = 0;
  for (const PlannedExchange& one : exchanges) {
    factors += one.gather ? one.bytes : 0;
    flops += one.flops;
  }
  EXPECT_NEAR(factors, 4 * 32 * (25088 + 4096 + 4096 + 4096 + 4096 + 1000), 1);
  EXPECT_NEAR(flops, 2 * 32 * (25088.0 * 4096 + 4096 * 4096 + 4096 * 1000), 1);
}

// A text's places are rows of each layer, though the graph does not know how
// many texts there are.
TEST(GraphWorkload, RowsFollowFromTheBatch) {
  const Workload workload = of_model("gpt");
  const double rows = 32 * 64;
  // A multiplication and an addition of each, forward and twice backward.
  EXPECT_GT(workload.step_seconds, 6 * 0.7e6 * rows / 3e10);
  // Factors of so many rows are larger than the gradients of 128 columns.
  for (const PlannedExchange& one :
       workload.with_factors(4, {.link = 12.5e6, .flop_rate = 1e11}))
    EXPECT_EQ(one.flops, 0);
}

// A layer of each of 64 places, and one of all of them together: a program
// whose graph leaves the batch open chooses for both by the same number of
// rows, so the factors of the second pay, but do not travel.
// Those of a third, whose input has a batch of its own, do.
TEST(GraphWorkload, ProgramsChooseFactorsByTheMostRows) {
  for (const int64_t batch : {kAny, int64_t{32}}) {
    const auto graph = std::make_shared<Graph>();
    const Value x =
        placeholder(*graph, {.shape = PartialShape({batch, 64, 512})});
    const Value each = matmul(reshape(x, {-1, 512}),
                              variable(*graph, fill(*graph, {512, 512}, 0.1)));
    const Value all = matmul(reshape(each, {-1, 64 * 512}),
                             variable(*graph, fill(*graph, {64 * 512, 64}, 0)));
    const Value known =
        matmul(placeholder(*graph, {.shape = PartialShape({16, 4096})}),
               variable(*graph, fill(*graph, {4096, 64}, 0)));
    GradientDescent({.learning_rate = 0.1})
        .minimize(reduce_mean(all) + reduce_mean(known));
    const TrainingStep step = find_step(graph, "test").value();
    const std::vector<bool> open = open_factors(step);
    const bool is_open = batch == kAny;
    EXPECT_EQ(std::ranges::count(open, true), is_open ? 2 : 0);
    settle_shapes(step, 32);
    const Workload workload =
        workload_of(step, 32, estimated_times(step, 32, {}), open);
    EXPECT_EQ(workload.factor_rows, is_open ? 32 * 64 : 0);
    const auto exchanges =
        workload.with_factors(2, {.link = 12.5e6, .flop_rate = 1e12});
    EXPECT_EQ(std::ranges::count_if(exchanges, &PlannedExchange::gather),
              is_open ? 2 : 4);
  }
}

TEST(GraphWorkload, WhatDoesNotGoTogetherStaysOpen) {
  const auto graph = std::make_shared<Graph>();
  const Value x =
      placeholder(*graph, {.shape = PartialShape({kAny, kAny}), .name = "x"});
  const Value y =
      matmul(x, variable(*graph, fill(*graph, {8, 4}, 0.1), {.name = "w"}));
  const Value z = reshape(placeholder(*graph, {.shape = {kAny, 6}}), {-1, 2});
  GradientDescent sgd({.learning_rate = 0.1});
  sgd.minimize(reduce_mean(y) + reduce_mean(z));
  settle_shapes(find_step(graph, "test").value(), 5);
  EXPECT_EQ(x.shape().to_string(), "[5, 5]");
  EXPECT_EQ(y.shape().to_string(), "[?, 4]");
  EXPECT_EQ(z.shape().to_string(), "[15, 2]");
}

// Reshaped, these extents would be more elements than there can be.
TEST(GraphWorkload, WhatWouldBeTooLargeStaysOpen) {
  const auto graph = std::make_shared<Graph>();
  const Value x =
      placeholder(*graph, {.shape = PartialShape({kAny, kAny, kAny, kAny})});
  const Value scale = variable(*graph, fill(*graph, {}, 0.1));
  // Whose gradient is given the shape of x again.
  const Value y = reshape(x * scale, {-1, 4});
  const Value w = variable(*graph, fill(*graph, {4, 1}, 0.1), {.name = "w"});
  GradientDescent({.learning_rate = 0.1}).minimize(reduce_mean(matmul(y, w)));
  settle_shapes(find_step(graph, "test").value(), 1'000'000);
  EXPECT_EQ(y.shape().to_string(), "[?, 4]");
}

// Each text of five words has as many rows of 16 numbers in a table.
Workload of_words(DType dtype) {
  const auto graph = std::make_shared<Graph>();
  const Value words =
      placeholder(*graph, {.dtype = dtype, .shape = PartialShape({kAny, 5})});
  const Value table = variable(*graph, fill(*graph, {10'000, 16}, 0.1));
  const Value w = variable(*graph, fill(*graph, {16, 1}, 0.1));
  const Value found = reshape(embedding_lookup(table, words), {-1, 16});
  GradientDescent({.learning_rate = 0.1})
      .minimize(reduce_mean(matmul(found, w)));
  return estimated(find_step(graph, "test").value());
}

// Of a table of words, the rows that a batch has used.
TEST(GraphWorkload, ATableHasRows) {
  const Workload workload = of_words(DType::kI64);
  const double rows = 32 * 5, bytes = rows * (4 * 16 + 8);
  for (const auto& exchanges : {workload.keys_for(2), workload.buckets}) {
    ASSERT_EQ(exchanges.size(), 2u);
    const PlannedExchange& one =
        *std::ranges::max_element(exchanges, {}, &PlannedExchange::rows);
    EXPECT_TRUE(one.gather);
    EXPECT_EQ(one.bytes, bytes);
    EXPECT_EQ(one.rows, rows);
    EXPECT_EQ(one.answers(4), 4);
    EXPECT_EQ(one.answers(1000), 10'000 / rows);
  }
  EXPECT_EQ(workload.parameters, 160'016);
  EXPECT_EQ(workload.bytes(), bytes + 4 * 16);
  // 3 times those of a worker and 2 * 3/4 of the others.
  EXPECT_NEAR(ring_bytes(workload.bytes_of_ring(4), 4), 3 * bytes + 1.5 * 64,
              1e-6);
}

// Servers get the places of rows as numbers of 64 bits.
TEST(GraphWorkload, PlacesOfRowsMayBeShort) {
  const Workload workload = of_words(DType::kI32);
  const double rows = 32 * 5, dense = 4 * 16;
  EXPECT_EQ(bytes_of(workload.buckets), rows * (4 * 16 + 4) + dense);
  EXPECT_EQ(bytes_of(workload.keys_for(2)), rows * (4 * 16 + 8) + dense);
}

TEST(GraphWorkload, EveryModelOfTrain) {
  for (const char* model : {"mlp", "lenet", "lstm", "gpt", "resnet50"}) {
    const Workload workload = of_model(model);
    EXPECT_GT(workload.parameters, 5e4) << model;
    EXPECT_GT(workload.step_seconds, 0) << model;
    EXPECT_FALSE(workload.buckets.empty()) << model;
  }
}

TEST(GraphWorkload, ASavedStepIsFoundByItsUpdates) {
  const TrainingStep made = model_step("lenet", "adam").value();
  const TrainingStep found = find_step(made.graph, "saved").value();
  EXPECT_EQ(found.gradients.size(), made.gradients.size());
  EXPECT_NEAR(estimated(found).parameters, estimated(made).parameters, 0.5);
}

TEST(GraphWorkload, AVariableWithoutAShapeIsExplained) {
  const auto graph = std::make_shared<Graph>();
  const Value first =
      placeholder(*graph, {.shape = PartialShape({kAny, 4}), .name = "first"});
  const Value w = variable(*graph, first, {.name = "w"});
  GradientDescent({.learning_rate = 0.1}).minimize(reduce_mean(w * w));
  EXPECT_THAT(find_step(graph, "open.meta").status().message(),
              HasSubstr("open.meta: the variable w has the shape [?, 4]"));
}

TEST(GraphWorkload, AGraphWithoutGradientsIsExplained) {
  const auto step = find_step(std::make_shared<Graph>(), "bare.meta");
  EXPECT_THAT(step.status().message(), HasSubstr("bare.meta"));
  EXPECT_THAT(step.status().message(), HasSubstr("optimizer.minimize"));
}

}  // namespace
}  // namespace rondo
