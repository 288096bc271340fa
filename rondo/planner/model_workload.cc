#include "rondo/planner/model_workload.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/models/layers.h"
#include "rondo/trainer/model.h"
#include "rondo/trainer/optimizer_name.h"

namespace rondo {
namespace {

constexpr int64_t kLargeImage = 224;

// One example of the right shape, all zero.
TrainingData blank_data(const ModelName& model) {
  TrainingData data{.name = "zeros", .kind = model.kind};
  const bool text = model.kind == ExampleKind::kText;
  data.classes = text ? 256 : model.side == kLargeImage ? 1000 : 10;
  const Shape inputs = text ? Shape{1, model.side}
                            : Shape{1, model.side, model.side, model.channels};
  const Shape labels = text ? Shape{1, model.side} : Shape{1};
  for (Examples* examples : {&data.train, &data.test})
    *examples = {Tensor::zeros(inputs, DType::kU8),
                 Tensor::zeros(labels, DType::kU8)};
  return data;
}

Result<const OptimizerName*> optimizer_of(const std::string& name) {
  const OptimizerName* found = find_optimizer(name);
  if (found == nullptr)
    return error(Code::kInvalidArgument,
                 "--optimizer {}: there is no such optimizer; there are {}",
                 name, optimizer_names());
  return found;
}

}  // namespace

Status check_optimizer(const std::string& name) {
  return optimizer_of(name).status();
}

Result<TrainingStep> model_step(const std::string& name,
                                const std::string& optimizer) {
  RONDO_ASSIGN_OR_RETURN(const ModelName* model, find_model(name));
  RONDO_ASSIGN_OR_RETURN(const OptimizerName* named, optimizer_of(optimizer));
  TrainingStep step{.graph = std::make_shared<Graph>()};
  const ModelGraph made = build_model(*step.graph, *model, blank_data(*model));
  step.gradients = Optimizer::compute_gradients(made.loss);
  std::vector<Node*> updates = {
      &named->make(named->rate)->apply_gradients(step.gradients)};
  for (const Value& update : step.graph->collection(models::kUpdates))
    updates.push_back(update.node);
  step.train = &group(*step.graph, updates);
  return step;
}

double usual_examples(const std::string& name) {
  const Result<const ModelName*> model = find_model(name);
  return model.ok() && (*model)->side == kLargeImage ? 1281167 : 60000;
}

}  // namespace rondo
