#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/models/gpt.h"
#include "rondo/models/lenet.h"
#include "rondo/models/lstm.h"
#include "rondo/models/mlp.h"
#include "rondo/models/resnet.h"
#include "rondo/models/training.h"
#include "rondo/models/vgg.h"
#include "rondo/runtime/session.h"

namespace rondo::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kClasses = 5;

// A model as a function of its input, and what that input is.
struct Case {
  std::string name;
  Shape input;
  Shape labels;
  std::function<Value(Value)> logits;
  bool tokens = false;
};

Case mlp() {
  auto model =
      std::make_shared<MLP>(MLPOptions{.units = {16, 12}, .classes = kClasses});
  return {"MLP", {4, 10}, {4}, [model](Value x) { return (*model)(x); }};
}

Case lenet(const std::string& format, const Shape& input) {
  auto model = std::make_shared<LeNet>(LeNetOptions{.filters = {4, 6},
                                                    .units = 8,
                                                    .classes = kClasses,
                                                    .dropout = 0.1,
                                                    .data_format = format});
  return {"LeNet" + format, input, {4}, [model](Value x) {
            return (*model)(x, true);
          }};
}

Case vgg(const std::string& format, const Shape& input) {
  auto model = std::make_shared<VGG>(VGGOptions{.stacks = {{1, 4}, {2, 6}},
                                                .units = 8,
                                                .classes = kClasses,
                                                .dropout = 0,
                                                .data_format = format});
  return {"VGG" + format, input, {4}, [model](Value x) {
            return (*model)(x, true);
          }};
}

Case resnet(const std::string& format, const Shape& input) {
  auto model = std::make_shared<ResNet>(ResNetOptions{.blocks = {1, 2},
                                                      .width = 4,
                                                      .classes = kClasses,
                                                      .data_format = format});
  return {"ResNet" + format, input, {4}, [model](Value x) {
            return (*model)(x, true);
          }};
}

Case lstm() {
  auto model = std::make_shared<LSTM>(
      LSTMOptions{.units = 6, .layers = 2, .classes = kClasses});
  return {"LSTM", {4, 5, 3}, {4}, [model](Value x) { return (*model)(x); }};
}

Case gpt() {
  auto model = std::make_shared<GPT>(GPTOptions{.vocabulary = kClasses,
                                                .layers = 2,
                                                .width = 8,
                                                .heads = 2,
                                                .places = 6,
                                                .dropout = 0.1});
  return {"GPT",
          {2, 4},
          {2, 4},
          [model](Value x) { return (*model)(x, true); },
          true};
}

std::vector<Case> cases() {
  return {mlp(),
          lenet("NHWC", {4, 12, 12, 1}),
          lenet("NCHW", {4, 1, 12, 12}),
          vgg("NHWC", {4, 12, 12, 3}),
          vgg("NCHW", {4, 3, 12, 12}),
          resnet("NHWC", {4, 32, 32, 3}),
          resnet("NCHW", {4, 3, 32, 32}),
          lstm(),
          gpt()};
}

Tensor classes(const Shape& shape, std::mt19937& random) {
  Tensor tensor = Tensor::empty(shape, DType::kI64);
  std::uniform_int_distribution<int64_t> one(0, kClasses - 1);
  for (int64_t& x : tensor.span<int64_t>()) x = one(random);
  return tensor;
}

Tensor numbers(const Shape& shape, std::mt19937& random) {
  Tensor tensor = Tensor::empty(shape, DType::kF32);
  std::uniform_real_distribution<float> one(0, 1);
  for (float& x : tensor.span<float>()) x = one(random);
  return tensor;
}

struct Trained {
  std::vector<float> losses;
  std::vector<Tensor> weights;
};

// Ten steps on one batch of random data.
Trained train(const Case& model) {
  Graph g;
  g.set_seed(7);
  const Value x =
      placeholder(g, {.dtype = model.tokens ? DType::kI64 : DType::kF32,
                      .shape = model.input});
  const Value y = placeholder(g, {.dtype = DType::kI64, .shape = model.labels});
  const Value value = loss(y, model.logits(x));
  Momentum momentum({.learning_rate = 0.05});
  Node& step = train_op(momentum, value);
  std::mt19937 random(1);
  const std::vector<Feed> feeds = {
      {x, model.tokens ? classes(model.input, random)
                       : numbers(model.input, random)},
      {y, classes(model.labels, random)}};
  Session session(g, {.intra_op_threads = 1});
  session.run(initializer(g)).value();
  Trained result;
  for (int i = 0; i < 10; ++i)
    result.losses.push_back(
        session.run({value}, feeds, {&step}).value()[0].span<float>()[0]);
  result.weights = session.run(g.collection(kVariables), {}).value();
  return result;
}

class Models : public testing::TestWithParam<int> {
 protected:
  // A model belongs to one graph, so each call makes it anew.
  static Case model() { return cases()[static_cast<size_t>(GetParam())]; }
};

TEST_P(Models, LossFalls) {
  const Trained trained = train(model());
  EXPECT_LT(trained.losses.back(), trained.losses.front());
}

TEST_P(Models, SameSeedSameBits) {
  const Trained one = train(model());
  const Trained other = train(model());
  EXPECT_EQ(one.losses, other.losses);
  ASSERT_EQ(one.weights.size(), other.weights.size());
  for (size_t i = 0; i < one.weights.size(); ++i)
    EXPECT_EQ(std::memcmp(one.weights[i].data(), other.weights[i].data(),
                          one.weights[i].bytes()),
              0);
}

INSTANTIATE_TEST_SUITE_P(All, Models,
                         testing::Range(0, static_cast<int>(cases().size())),
                         [](const testing::TestParamInfo<int>& one) {
                           return cases()[static_cast<size_t>(one.param)].name;
                         });

TEST(Layers, CallsOfAModelShareItsVariables) {
  Graph g;
  const Value x = placeholder(g, {.shape = {kAny, 3}});
  MLP model({.units = {4}, .classes = 2});
  model(x);
  model(x);
  std::vector<std::string> names;
  for (const Value& v : g.collection(kTrainable)) names.push_back(v.name());
  EXPECT_THAT(names, ElementsAre("mlp/dense1/kernel", "mlp/dense1/bias",
                                 "mlp/logits/kernel", "mlp/logits/bias"));
}

TEST(Layers, AnotherShapeOfASharedVariableIsNamed) {
  Graph g;
  MLP model({.units = {4}, .classes = 2});
  model(placeholder(g, {.shape = {kAny, 3}}));
  try {
    model(placeholder(g, {.shape = {kAny, 5}}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("mlp/dense1/kernel"));
  }
}

TEST(Layers, UnknownExtentsAreNamed) {
  Graph g;
  MLP model;
  try {
    model(placeholder(g, {.shape = {kAny, kAny}}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("dense1: axis 1"));
  }
}

TEST(LSTM, TakesBatchesOfAnySize) {
  Graph g;
  const Value x = placeholder(g, {.shape = {kAny, 5, 2}});
  LSTM model({.units = 4, .classes = 3});
  const Value logits = model(x);
  Session session(g);
  session.run(initializer(g)).value();
  for (const int64_t batch : {1, 3}) {
    const Tensor out =
        session.run(logits, {{x, Tensor::full({batch, 5, 2}, 0.5f)}}).value();
    EXPECT_EQ(out.shape(), Shape({batch, 3}));
  }
}

TEST(GPT, WrongSizesAreNamed) {
  EXPECT_THROW(GPT({.width = 10, .heads = 3}), Error);
  Graph g;
  GPT model(
      {.vocabulary = 5, .layers = 1, .width = 4, .heads = 2, .places = 3});
  EXPECT_THROW(model(placeholder(g, {.dtype = DType::kI64, .shape = {1, 4}})),
               Error);
}

TEST(ResNet, MovingAveragesServeWithoutTraining) {
  Graph g;
  g.set_seed(3);
  ResNet model({.blocks = {1}, .width = 2, .classes = 3});
  const Value x = placeholder(g, {.shape = {kAny, 16, 16, 3}});
  const Value y = placeholder(g, {.dtype = DType::kI64, .shape = {kAny}});
  Momentum momentum;
  Node& step = train_op(momentum, loss(y, model(x, true)));
  const Value test = model(x);
  const Value mean = g.value("resnet/stem/norm/moving_mean");
  std::mt19937 random(1);
  const Tensor images = numbers({4, 16, 16, 3}, random);
  Session session(g);
  session.run(initializer(g)).value();
  EXPECT_THAT(session.run(mean).value().span<float>(), ElementsAre(0, 0));
  session.run({}, {{x, images}, {y, Tensor::full({4}, int64_t{1})}}, {&step})
      .value();
  EXPECT_NE(session.run(mean).value().span<float>()[0], 0);
  EXPECT_EQ(session.run(test, {{x, images}}).value().shape(), Shape({4, 3}));
}

}  // namespace
}  // namespace rondo::models
