#include "rondo/trainer/model.h"

#include <memory>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/searching.h"
#include "rondo/models/gpt.h"
#include "rondo/models/images.h"
#include "rondo/models/lenet.h"
#include "rondo/models/lstm.h"
#include "rondo/models/mlp.h"
#include "rondo/models/resnet.h"
#include "rondo/models/training.h"
#include "rondo/models/vgg.h"

namespace rondo {
namespace {

ModelFunction mlp(const TrainingData& data, DType compute) {
  models::MLPOptions options;
  options.compute = compute;
  options.classes = data.classes;
  auto model = std::make_shared<models::MLP>(options);
  return [model](Value x, bool) { return (*model)(models::flatten(x)); };
}

ModelFunction lenet(const TrainingData& data, DType compute) {
  models::LeNetOptions options;
  options.compute = compute;
  options.classes = data.classes;
  auto model = std::make_shared<models::LeNet>(options);
  return [model](Value x, bool training) { return (*model)(x, training); };
}

// Without dropout: its random numbers depend on the run and the rank, and the
// curve of a training must not.
ModelFunction vgg16(const TrainingData& data, DType compute) {
  models::VGGOptions options;
  options.compute = compute;
  options.classes = data.classes;
  options.dropout = 0;
  auto model = std::make_shared<models::VGG>(options);
  return [model](Value x, bool training) { return (*model)(x, training); };
}

ModelFunction resnet50(const TrainingData& data, DType compute) {
  models::ResNetOptions options;
  options.compute = compute;
  options.classes = data.classes;
  auto model = std::make_shared<models::ResNet>(options);
  return [model](Value x, bool training) { return (*model)(x, training); };
}

// The rows of an image, one after another.
ModelFunction lstm(const TrainingData& data, DType compute) {
  models::LSTMOptions options;
  options.compute = compute;
  options.classes = data.classes;
  auto model = std::make_shared<models::LSTM>(options);
  const Shape shape = data.train.input_shape();
  const Ints steps = {-1, shape[1], shape[2] * shape[3]};
  return [model, steps](Value x, bool) { return (*model)(reshape(x, steps)); };
}

// Small enough for a try on one machine.
ModelFunction gpt(const TrainingData& data, DType compute) {
  models::GPTOptions options;
  options.compute = compute;
  options.vocabulary = data.classes;
  options.layers = 4;
  options.width = 128;
  options.heads = 4;
  options.places = data.train.input_shape()[1];
  auto model = std::make_shared<models::GPT>(options);
  return [model](Value x, bool training) { return (*model)(x, training); };
}

// Lines of an image, or characters of a text.
int64_t second_extent(const TrainingData& data) {
  return data.train.input_shape()[1];
}

constexpr ExampleKind kImages = ExampleKind::kImages;
constexpr ModelName kModels[] = {
    {.name = "mlp", .kind = kImages, .make = mlp},
    {.name = "lenet", .kind = kImages, .least_side = 4, .make = lenet},
    {.name = "vgg16",
     .kind = kImages,
     .least_side = 32,
     .side = 224,
     .channels = 3,
     .examples = 256,
     .make = vgg16},
    {.name = "resnet50",
     .kind = kImages,
     .least_side = 8,
     .side = 224,
     .channels = 3,
     .examples = 256,
     .make = resnet50},
    {.name = "lstm", .kind = kImages, .make = lstm, .rows = second_extent},
    {.name = "gpt",
     .kind = ExampleKind::kText,
     .side = 64,
     .make = gpt,
     .rows = second_extent},
};

Value share_right(Value logits, Value labels) {
  const Value best = argmax(logits, logits.shape().rank() - 1);
  return reduce_mean(cast(equal(best, labels), DType::kF32));
}

// Any number of rows like those of the examples.
PartialShape batch_shape(const Shape& examples) {
  std::vector<int64_t> extents(examples.extents().begin(),
                               examples.extents().end());
  extents[0] = kAny;
  return PartialShape(extents);
}

}  // namespace

DataRequest ModelName::request(const std::string& data) const {
  return {.data = data,
          .kind = kind,
          .side = side,
          .channels = channels,
          .examples = examples,
          .places = kind == ExampleKind::kText ? side : 64};
}

Result<const ModelName*> find_model(std::string_view name) {
  for (const ModelName& known : kModels)
    if (known.name == name) return &known;
  return error(Code::kInvalidArgument, "there is no model \"{}\"; there are {}",
               name, model_names());
}

std::string model_names() {
  std::string names;
  for (const ModelName& known : kModels)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return names;
}

Status fits(const ModelName& model, const TrainingData& data) {
  if (model.kind != data.kind)
    return error(Code::kInvalidArgument, "{} takes {}, and {} is {}",
                 model.name, model.kind == kImages ? "images" : "text",
                 data.name, data.kind == kImages ? "images" : "text");
  if (data.kind == ExampleKind::kText) return {};
  const Shape shape = data.train.input_shape();
  if (shape[1] < model.least_side || shape[2] < model.least_side)
    return error(Code::kInvalidArgument,
                 "{} takes images of {} x {} or more, and those of {} are {} "
                 "x {}",
                 model.name, model.least_side, model.least_side, data.name,
                 shape[1], shape[2]);
  return {};
}

ModelGraph build_model(Graph& graph, const ModelName& model,
                       const TrainingData& data, DType compute) {
  const DType dtype =
      data.kind == ExampleKind::kText ? DType::kI64 : DType::kF32;
  ModelGraph made;
  made.inputs =
      placeholder(graph, {.dtype = dtype,
                          .shape = batch_shape(data.train.input_shape()),
                          .name = "inputs"});
  made.labels =
      placeholder(graph, {.dtype = DType::kI64,
                          .shape = batch_shape(data.train.labels.shape()),
                          .name = "labels"});
  const ModelFunction logits = model.make(data, compute);
  const Value training = logits(made.inputs, true);
  made.loss = models::loss(made.labels, training);
  made.right = share_right(training, made.labels);
  const Value testing = logits(made.inputs, false);
  made.test_loss = models::loss(made.labels, testing);
  made.test_right = share_right(testing, made.labels);
  return made;
}

}  // namespace rondo
