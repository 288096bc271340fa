// The models of `rondo train` as workloads.
#pragma once

#include <string>

#include "rondo/planner/graph_workload.h"

namespace rondo {

struct PlannedModel {
  std::string model;      // "vgg16", ...
  std::string optimizer;  // "momentum", ...
  int64_t batch = 32;     // rows of a worker
};

// Whether there is one of this name.
Status check_optimizer(const std::string& name);

// The model with the data that it is known for: 224 x 224 images of 1000
// classes, or 28 x 28 of ten.
Result<TrainingStep> model_step(const PlannedModel& planned);
// How many examples the data set has that the model is known for.
double usual_examples(const PlannedModel& planned);

// Seconds of a step of one worker, by training the model here for a while.
Result<double> measured_step(const PlannedModel& planned);

}  // namespace rondo
