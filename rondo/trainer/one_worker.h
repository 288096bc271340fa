// OneWorker: what one worker alone would do, for comparison.
#pragma once

#include "rondo/trainer/model.h"
#include "rondo/trainer/train_options.h"
#include "rondo/trainer/training_report.h"

namespace rondo {

struct OneWorker {
  int64_t batch = 1;
  int threads = 1;
  double seconds = 2;  // how long it is measured, after a few steps
};

// Examples per second of one worker with these threads that trains alone, in
// this process, from new variables.
Result<double> one_worker_rate(const TrainOptions& options,
                               const ModelName& model, const TrainingData& data,
                               const OneWorker& worker);

// With one like `worker`, and with one that has all cores and the whole batch.
Result<Comparison> compare_with_one_worker(const TrainOptions& options,
                                           const ModelName& model,
                                           const TrainingData& data,
                                           const OneWorker& worker);

}  // namespace rondo
