// The models of `rondo train`, by name, and the values of a graph that trains
// one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rondo/graph/graph.h"
#include "rondo/trainer/data_source.h"

namespace rondo {

// Logits of a batch's inputs, while training or not. Calls share variables.
using ModelFunction = std::function<Value(Value inputs, bool training)>;

struct ModelName {
  std::string_view name;
  ExampleKind kind;        // of examples that it takes
  int64_t least_side = 1;  // of images
  // What synthetic data is like for it; text has `side` places.
  int64_t side = 28;
  int64_t channels = 1;
  int64_t examples = 4096;
  ModelFunction (*make)(const TrainingData& data, DType compute);
  // The most rows that a product of it has for an example; nullptr: one.
  int64_t (*rows)(const TrainingData& data) = nullptr;

  DataRequest request(const std::string& data) const;
};

// An error lists them.
Result<const ModelName*> find_model(std::string_view name);
// "mlp, lenet, ...".
std::string model_names();

// Feeds and fetches of a training graph. Loss and right are means over the
// batch that is fed.
struct ModelGraph {
  Value inputs;
  Value labels;
  Value loss;       // while training
  Value right;      // share of right answers, while training
  Value test_loss;  // as it is used later
  Value test_right;
};

// Products and convolutions are computed in `compute`. Throws where the model
// cannot take data of these shapes.
ModelGraph build_model(Graph& graph, const ModelName& model,
                       const TrainingData& data, DType compute = DType::kF32);
// Whether the model can take this data.
Status fits(const ModelName& model, const TrainingData& data);

}  // namespace rondo
