#include "rondo/trainer/training_graph.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/models/training.h"
#include "rondo/trainer/not_finite_origin.h"
#include "rondo/trainer/optimizer_name.h"

namespace rondo {
namespace {

Score score_of(const std::vector<Tensor>& fetched) {
  return {fetched[0].span<float>()[0], fetched[1].span<float>()[0]};
}

// The same loss, whose gradients wait for a check of it: by an update with NaN
// all variables would be NaN, and nobody could tell where it came from.
Value checked(Value loss) {
  const Value finite = check_numerics(loss, "the loss");
  return loss * stop_gradient(cast(equal(finite, finite), loss.dtype()));
}

}  // namespace

TrainingGraph::TrainingGraph(const TrainOptions& options,
                             const ModelName& model, const TrainingData& data,
                             const Strategy& strategy) {
  graph_.set_seed(options.seed);
  model_ =
      build_model(graph_, model, data,
                  options.precision == "bf16" ? DType::kBF16 : DType::kF32);
  Rate rate = options.rate();
  if (options.decay != "none") {
    rate_ = placeholder(
        graph_, {.shape = PartialShape::scalar(), .name = "learning_rate"});
    rate = rate_;
  }
  optimizer_ = find_optimizer(options.optimizer)->make(rate);
  distributed_.emplace(strategy, *optimizer_);
  train_ = &models::train_op(*distributed_, checked(model_.loss));
}

Result<Score> TrainingGraph::step(Session& session, const Batch& batch,
                                  double rate, Timeline* timeline) {
  std::vector<Feed> feeds = {{model_.inputs, batch.inputs},
                             {model_.labels, batch.labels}};
  if (rate_.node != nullptr)
    feeds.push_back({rate_, Tensor::full<float>({}, static_cast<float>(rate))});
  RONDO_ASSIGN_OR_RETURN(const auto fetched,
                         session.run({model_.loss, model_.right}, feeds,
                                     {train_}, {.timeline = timeline}));
  return score_of(fetched);
}

Result<Score> TrainingGraph::test(Session& session, const Batch& batch) {
  RONDO_ASSIGN_OR_RETURN(const auto fetched,
                         session.run({model_.test_loss, model_.test_right},
                                     {{model_.inputs, batch.inputs},
                                      {model_.labels, batch.labels}}));
  return score_of(fetched);
}

Result<const Node*> TrainingGraph::not_finite_origin(Session& session,
                                                     const Batch& batch) {
  return rondo::not_finite_origin(
      session, model_.loss,
      {{model_.inputs, batch.inputs}, {model_.labels, batch.labels}});
}

}  // namespace rondo
