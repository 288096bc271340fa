// CIFAR-10's binary files: records of a label and 3 x 32 x 32 pixels, all red
// ones first.
#pragma once

#include <string>

#include "rondo/base/status.h"
#include "rondo/trainer/examples.h"

namespace rondo {

// Whether a folder has CIFAR-10's first file.
bool has_cifar_files(const std::string& folder);
// data_batch_1.bin to data_batch_5.bin, as many as there are, and
// test_batch.bin.
Result<TrainingData> load_cifar_files(const std::string& folder);

}  // namespace rondo
