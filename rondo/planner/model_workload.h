// The models of `rondo train` as workloads.
#pragma once

#include <string>

#include "rondo/planner/training_step.h"

namespace rondo {

// Whether there is one of this name.
Status check_optimizer(const std::string& name);

// The model with the data that it is known for: 224 x 224 images of 1000
// classes, or 28 x 28 of ten; the number of rows is left open.
Result<TrainingStep> model_step(const std::string& model,
                                const std::string& optimizer = "momentum");
// How many examples the data set has that the model is known for.
double usual_examples(const std::string& model);

}  // namespace rondo
