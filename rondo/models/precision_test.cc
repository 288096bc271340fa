// Models whose products and convolutions are computed in bf16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/models/lenet.h"
#include "rondo/models/lstm.h"
#include "rondo/models/mlp.h"
#include "rondo/models/training.h"
#include "rondo/runtime/session.h"

namespace rondo::models {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Pointwise;

using Build = std::function<Value(Value x, DType compute)>;

struct Trained {
  std::vector<float> losses;
  std::set<DType> products;   // what products and convolutions are of
  std::set<DType> variables;  // what variables are of
  std::vector<Tensor> initial;
};

// Eight steps on one batch, from these values of variables, or from new ones.
Trained train(const Shape& input, const Build& build, DType compute,
              const std::vector<Tensor>& initial = {}) {
  Graph g;
  g.set_seed(7);
  const Value x = placeholder(g, {.shape = input});
  const Value y = placeholder(g, {.dtype = DType::kI64, .shape = {input[0]}});
  const Value value = loss(y, build(x, compute));
  Momentum momentum({.learning_rate = 0.05});
  Node& step = train_op(momentum, value);
  Tensor images = Tensor::empty(input, DType::kF32);
  Tensor labels = Tensor::empty({input[0]}, DType::kI64);
  int next = 0;
  for (float& pixel : images.span<float>())
    pixel = static_cast<float>(next++ * 37 % 101) / 101;
  for (int64_t& label : labels.span<int64_t>()) label = next++ % 3;

  Trained result;
  for (const auto& node : g.nodes())
    if (node->op().name == "MatMul" || node->op().name.starts_with("Conv2D"))
      result.products.insert(node->outputs()[0].dtype);
  for (const Value& variable : g.collection(kVariables))
    result.variables.insert(variable.dtype());
  std::vector<Feed> values;
  std::vector<Node*> assigned;
  const std::vector<Value> variables = g.collection(kVariables);
  for (size_t i = 0; i < initial.size(); ++i) {
    const Value fed = placeholder(g, {.shape = variables[i].shape()});
    values.push_back({fed, initial[i]});
    assigned.push_back(assign(variables[i], fed).node);
  }
  Session session(g, {.intra_op_threads = 1});
  session.run(initializer(g)).value();
  session.run({}, values, assigned).value();
  result.initial = session.run(variables, {}).value();
  for (int i = 0; i < 8; ++i)
    result.losses.push_back(
        session.run({value}, {{x, images}, {y, labels}}, {&step})
            .value()[0]
            .span<float>()[0]);
  return result;
}

// The gradients too, and nothing else.
void expect_alike(const Shape& input, const Build& build) {
  const Trained whole = train(input, build, DType::kF32);
  const Trained half = train(input, build, DType::kBF16, whole.initial);
  EXPECT_THAT(whole.products, ElementsAre(DType::kF32));
  EXPECT_THAT(half.products, ElementsAre(DType::kBF16));
  EXPECT_THAT(half.variables, Each(DType::kF32));
  EXPECT_NE(half.losses, whole.losses);
  EXPECT_THAT(half.losses, Pointwise(testing::FloatNear(0.05F), whole.losses));
  EXPECT_LT(half.losses.back(), half.losses.front());
}

TEST(Precision, MLP) {
  expect_alike({4, 10}, [](Value x, DType compute) {
    return MLP({.units = {16, 12}, .classes = 3, .compute = compute})(x);
  });
}

TEST(Precision, LeNet) {
  expect_alike({4, 12, 12, 1}, [](Value x, DType compute) {
    LeNetOptions options{.filters = {4, 6}, .units = 8, .classes = 3};
    options.compute = compute;
    return LeNet(options)(x, true);
  });
}

TEST(Precision, LSTM) {
  expect_alike({4, 5, 3}, [](Value x, DType compute) {
    LSTMOptions options{.units = 6, .classes = 3};
    options.compute = compute;
    return LSTM(options)(x);
  });
}

}  // namespace
}  // namespace rondo::models
