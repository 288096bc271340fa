// TrainingGraph: a model, its loss and its optimizer as one graph.
#pragma once

#include <memory>
#include <optional>

#include "rondo/runtime/session.h"
#include "rondo/train/strategy.h"
#include "rondo/trainer/batches.h"
#include "rondo/trainer/model.h"
#include "rondo/trainer/train_options.h"

namespace rondo {

// Means over a batch.
struct Score {
  double loss = 0;
  double right = 0;  // share of right answers
};

// The same on every rank but for the exchanges of the strategy, and so the
// same initial values. One thread.
class TrainingGraph {
 public:
  // Throws where the model cannot be built on this data.
  TrainingGraph(const TrainOptions& options, const ModelName& model,
                const TrainingData& data, const Strategy& strategy);

  Graph& graph() { return graph_; }
  // One step of training; its score is that before the update. Fails, and
  // leaves the variables as they were, where the loss is NaN or infinite.
  Result<Score> step(Session& session, const Batch& batch, double rate,
                     Timeline* timeline = nullptr);
  Result<Score> test(Session& session, const Batch& batch);
  // The first node of a step with this batch, before its update, that gives NaN
  // or infinity; nullptr: none does.
  Result<const Node*> not_finite_origin(Session& session, const Batch& batch);

 private:
  Graph graph_;
  ModelGraph model_;
  Value rate_;  // fed, where it changes
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<DistributedOptimizer> distributed_;
  Node* train_ = nullptr;
};

}  // namespace rondo
