// Made-up data that a model can learn: for a try, and for measuring.
#pragma once

#include "rondo/base/status.h"
#include "rondo/trainer/examples.h"

namespace rondo {

struct SyntheticImages {
  int64_t side = 28;
  int64_t channels = 1;
  int64_t classes = 10;
  int64_t train = 4096;  // how many
  int64_t test = 1024;
};

// Each class has a picture, and an image is that of its class under noise. The
// same on every machine.
TrainingData synthetic_images(const SyntheticImages& options);
// A language of few words.
Result<TrainingData> synthetic_text(int64_t bytes, int64_t places);

}  // namespace rondo
