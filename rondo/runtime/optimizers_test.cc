#include "rondo/graph/optimizers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names(const std::vector<Value>& values) {
  std::vector<std::string> all;
  for (const Value& value : values) all.push_back(value.name());
  return all;
}

TEST(Optimizer, SlotsAreVariablesNamedAfterTheirs) {
  Graph g;
  Value w = variable(g, ones(g, {3}), {.name = "w"});
  Value fixed =
      variable(g, ones(g, {3}), {.name = "fixed", .trainable = false});
  Momentum momentum({.learning_rate = 0.5, .momentum = 0.5});
  Value step = variable(g, constant(g, 0, DType::kI64),
                        {.name = "step", .trainable = false});
  Node* train = nullptr;
  {
    const NameScope scope(g, "training");
    train = &momentum.minimize(identity(w), {.global_step = step});
  }
  EXPECT_EQ(train->name(), "training/Momentum");
  EXPECT_THAT(names(g.collection(kVariables)),
              ElementsAre("w", "fixed", "step", "w/Momentum/velocity"));
  EXPECT_THAT(names(g.collection(kTrainable)), ElementsAre("w"));
  EXPECT_EQ(momentum.slot(w, "velocity").name(), "w/Momentum/velocity");
  EXPECT_FALSE(momentum.slot(fixed, "velocity"));
  // A second node for the same variable shares the slot.
  Node& again = momentum.minimize(identity(w));
  EXPECT_EQ(g.collection(kVariables).size(), 4u);
  Session session(g);
  session.run(initializer(g)).value();
  session.run(*train).value();
  EXPECT_THAT(session.run(w).value().span<float>(), ElementsAre(0.5, 0.5, 0.5));
  session.run(again).value();
  EXPECT_THAT(session.run(w).value().span<float>(),
              ElementsAre(-0.25, -0.25, -0.25));
  EXPECT_EQ(session.run(step).value().span<int64_t>()[0], 1);
}

TEST(Optimizer, RatesMayBeFed) {
  Graph g;
  Value w = variable(g, ones(g, {}), {.name = "w"});
  Value rate = placeholder(g, {.shape = PartialShape::scalar()});
  Node& train = GradientDescent({.learning_rate = rate}).minimize(identity(w));
  Session session(g);
  session.run(initializer(g)).value();
  session.run(train, {{rate, Tensor::full({}, 0.25f)}}).value();
  session.run(train, {{rate, Tensor::full({}, 2.0f)}}).value();
  EXPECT_EQ(session.run(w).value().span<float>()[0], 1 - 0.25f - 2);
}

TEST(Optimizer, SparseGradientsChangeTheirRowsOnly) {
  Graph g;
  Value w = variable(g, ones(g, {4, 2}), {.name = "w"});
  Adagrad adagrad({.learning_rate = 1, .initial_accumulator = 3});
  Node& train = adagrad.apply_gradients(
      {{Gradient(ones(g, {2, 2}), constant_ints(g, {3, 1}), shape_of(w)), w}});
  Session session(g);
  session.run(initializer(g)).value();
  session.run(train).value();
  EXPECT_THAT(session.run(w).value().span<float>(),
              ElementsAre(1, 1, 0.5, 0.5, 1, 1, 0.5, 0.5));
}

TEST(Optimizer, SaysWhatIsMissing) {
  Graph g;
  Value x = placeholder(g);
  GradientDescent descent;
  EXPECT_THAT([&] { descent.minimize(identity(x)); },
              testing::ThrowsMessage<Error>(
                  HasSubstr("the graph has no trainable variable")));
  (void)variable(g, ones(g, {3}));
  EXPECT_THAT(
      [&] { descent.minimize(identity(x)); },
      testing::ThrowsMessage<Error>(HasSubstr("the loss depends on none")));
}

// y = 2 x - 3 from 64 points, by each optimizer.
TEST(Optimizer, TrainALinearModel) {
  const std::vector<std::function<std::unique_ptr<Optimizer>()>> all = {
      [] {
        return std::make_unique<GradientDescent>(
            GradientDescentOptions{.learning_rate = 0.3});
      },
      [] {
        return std::make_unique<Momentum>(
            MomentumOptions{.learning_rate = 0.05});
      },
      [] {
        return std::make_unique<Momentum>(
            MomentumOptions{.learning_rate = 0.05, .nesterov = true});
      },
      [] {
        return std::make_unique<Adagrad>(AdagradOptions{.learning_rate = 0.9});
      },
      [] {
        return std::make_unique<RmsProp>(
            RmsPropOptions{.learning_rate = 0.01, .epsilon = 1e-6});
      },
      [] {
        return std::make_unique<RmsProp>(RmsPropOptions{
            .learning_rate = 0.01, .epsilon = 1e-6, .centered = true});
      },
      [] { return std::make_unique<Adam>(AdamOptions{.learning_rate = 0.1}); },
      [] {
        return std::make_unique<AdamW>(
            AdamWOptions{.learning_rate = 0.1, .weight_decay = 1e-4});
      }};
  Tensor xs = Tensor::empty({64}), ys = Tensor::empty({64});
  for (size_t i = 0; i < 64; ++i) {
    xs.span<float>()[i] = std::sin(static_cast<float>(i) * 1.7f);
    ys.span<float>()[i] = 2 * xs.span<float>()[i] - 3;
  }
  for (const auto& make_optimizer : all) {
    const auto optimizer = make_optimizer();
    Graph g;
    Value x = placeholder(g, {.shape = {kAny}});
    Value y = placeholder(g, {.shape = {kAny}});
    Value w = variable(g, zeros(g, {}), {.name = "w"});
    Value b = variable(g, zeros(g, {}), {.name = "b"});
    Value loss = reduce_mean(square(sub(add(mul(w, x), b), y)));
    Node& train = optimizer->minimize(loss);
    Session session(g);
    session.run(initializer(g)).value();
    for (int step = 0; step < 500; ++step)
      session.run(train, {{x, xs}, {y, ys}}).value();
    EXPECT_NEAR(session.run(w).value().span<float>()[0], 2, 0.03)
        << optimizer->name();
    EXPECT_NEAR(session.run(b).value().span<float>()[0], -3, 0.03)
        << optimizer->name();
  }
}

}  // namespace
}  // namespace rondo
