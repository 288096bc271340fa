// idx files: tensors of bytes, as MNIST and its kin come.
//
//   0 0 8 RANK, then RANK extents as big-endian u32, then the bytes
#pragma once

#include <string>

#include "rondo/base/status.h"
#include "rondo/trainer/examples.h"

namespace rondo {

// The tensor of a file of this rank, compressed where its name ends in ".gz".
// The file must be of exactly the length that its head says.
Result<Tensor> read_idx_file(const std::string& path, int rank);

// Whether a folder has idx files of training images.
bool has_idx_files(const std::string& folder);
// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte of a folder, each as it is or with ".gz".
Result<TrainingData> load_idx_files(const std::string& folder);

}  // namespace rondo
