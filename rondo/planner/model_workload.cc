#include "rondo/planner/model_workload.h"

#include "rondo/base/cores.h"
#include "rondo/models/training.h"
#include "rondo/trainer/model.h"
#include "rondo/trainer/one_worker.h"
#include "rondo/trainer/optimizer_name.h"

namespace rondo {
namespace {

constexpr int64_t kLargeImage = 224;

// Examples of the right shapes, all zero.
TrainingData blank_data(const ModelName& model, int64_t count) {
  TrainingData data{.name = "zeros", .kind = model.kind};
  const bool text = model.kind == ExampleKind::kText;
  data.classes = text ? 256 : model.side == kLargeImage ? 1000 : 10;
  const Shape inputs =
      text ? Shape{count, model.side}
           : Shape{count, model.side, model.side, model.channels};
  const Shape labels = text ? Shape{count, model.side} : Shape{count};
  for (Examples* examples : {&data.train, &data.test})
    *examples = {Tensor::zeros(inputs, DType::kU8),
                 Tensor::zeros(labels, DType::kU8)};
  return data;
}

Result<const OptimizerName*> optimizer_of(const PlannedModel& planned) {
  const OptimizerName* found = find_optimizer(planned.optimizer);
  if (found == nullptr)
    return error(Code::kInvalidArgument,
                 "--optimizer {}: there is no such optimizer; there are {}",
                 planned.optimizer, optimizer_names());
  return found;
}

}  // namespace

Status check_optimizer(const std::string& name) {
  return optimizer_of({.optimizer = name}).status();
}

Result<TrainingStep> model_step(const PlannedModel& planned) {
  RONDO_ASSIGN_OR_RETURN(const ModelName* model, find_model(planned.model));
  RONDO_ASSIGN_OR_RETURN(const OptimizerName* named, optimizer_of(planned));
  TrainingStep step{.graph = std::make_shared<Graph>()};
  const ModelGraph made =
      build_model(*step.graph, *model, blank_data(*model, 1));
  step.gradients = Optimizer::compute_gradients(made.loss);
  step.train = &named->make(named->rate)->apply_gradients(step.gradients);
  return step;
}

double usual_examples(const PlannedModel& planned) {
  const Result<const ModelName*> model = find_model(planned.model);
  return model.ok() && (*model)->side == kLargeImage ? 1281167 : 60000;
}

Result<double> measured_step(const PlannedModel& planned) {
  RONDO_ASSIGN_OR_RETURN(const ModelName* model, find_model(planned.model));
  RONDO_RETURN_IF_ERROR(optimizer_of(planned).status());
  TrainOptions options;
  options.model = planned.model;
  options.optimizer = planned.optimizer;
  options.batch = planned.batch;
  RONDO_ASSIGN_OR_RETURN(
      const double rate,
      one_worker_rate(options, *model, blank_data(*model, planned.batch),
                      {.batch = planned.batch, .threads = share_of_cores()}));
  return static_cast<double>(planned.batch) / rate;
}

}  // namespace rondo
