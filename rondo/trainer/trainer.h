// Training a model as `rondo train` does.
#pragma once

#include "rondo/base/status.h"
#include "rondo/trainer/train_options.h"

namespace rondo {

// Trains as one worker of the job that this process belongs to, until the steps
// are done or the process is asked to end. Rank 0 writes to standard output.
// Where another worker's failure ended it and that one says why: kCancelled.
Status train(const TrainOptions& options);

}  // namespace rondo
