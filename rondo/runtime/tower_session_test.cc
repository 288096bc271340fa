// Models as two towers on two devices that share variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/models/lenet.h"
#include "rondo/models/mlp.h"
#include "rondo/models/training.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

Tensor images(const Shape& shape) {
  Tensor t = Tensor::empty(shape);
  float x = 0.1f;
  for (float& e : t.span<float>()) {
    x = x * 3.9f * (1 - x);
    e = x;
  }
  return t;
}

struct Towers {
  Value x[2], labels[2], logits[2];
  Value loss;
  Node* train = nullptr;
};

template <class Model>
Towers towers(Graph& g, Model& model, const Shape& shape) {
  g.set_seed(7);
  Towers t;
  Value losses[2];
  for (int i = 0; i < 2; ++i) {
    const DeviceScope device(g, fmt::format("/cpu:{}", i));
    t.x[i] = placeholder(g, {.shape = PartialShape(shape)});
    t.labels[i] = placeholder(g, {.dtype = DType::kI64, .shape = {shape[0]}});
    t.logits[i] = model(t.x[i]);
    losses[i] = models::loss(t.labels[i], t.logits[i]);
  }
  const DeviceScope device(g, "/cpu:0");
  t.loss = losses[0] + losses[1];
  Momentum own({.learning_rate = 0.05, .momentum = 0.9});
  t.train = &models::train_op(own, t.loss);
  return t;
}

// Losses of some steps, and then the logits.
std::vector<float> trained(Graph& g, const Towers& t, const Shape& shape,
                           const SessionOptions& options) {
  Session session(g, options);
  session.run(initializer(g)).value();
  std::vector<Feed> feeds;
  for (int i = 0; i < 2; ++i) {
    Tensor labels = Tensor::zeros({shape[0]}, DType::kI64);
    for (int64_t k = 0; k < shape[0]; ++k)
      labels.span<int64_t>()[static_cast<size_t>(k)] = (k + i) % 5;
    feeds.push_back({t.x[i], images(shape)});
    feeds.push_back({t.labels[i], labels});
  }
  std::vector<float> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(
        session.run({t.loss}, feeds, {t.train}).value()[0].span<float>()[0]);
  const auto logits =
      session.run({t.logits[0], t.logits[1]}, {feeds[0], feeds[2]}).value();
  for (const Tensor& tensor : logits)
    for (const float x : tensor.span<float>()) all.push_back(x);
  return all;
}

template <class Model>
void expect_the_same(Model& model, const Shape& shape) {
  Graph g;
  const Towers t = towers(g, model, shape);
  const auto one = trained(
      g, t, shape, {.intra_op_threads = 1, .allow_soft_placement = true});
  const auto two =
      trained(g, t, shape, {.intra_op_threads = 1, .devices = {{"cpu", 2}}});
  EXPECT_LT(one[3], one[0]);
  EXPECT_THAT(two, testing::Pointwise(testing::FloatNear(1e-4), one));
}

TEST(TowerTest, MLP) {
  models::MLP model({.units = {16, 12}, .classes = 5});
  expect_the_same(model, Shape{8, 10});
}

TEST(TowerTest, LeNet) {
  models::LeNet model({.filters = {4, 6}, .units = 8, .classes = 5});
  expect_the_same(model, Shape{4, 12, 12, 1});
}

}  // namespace
}  // namespace rondo
