// Where training data comes from, by what --data says.
#pragma once

#include <string>

#include "rondo/base/status.h"
#include "rondo/trainer/examples.h"

namespace rondo {

struct DataRequest {
  std::string data;  // "fashion-mnist", "cifar10", "synthetic", or a path
  // Of synthetic data; a side and channels also of what images of a folder are
  // made to fit.
  ExampleKind kind = ExampleKind::kImages;
  int64_t side = 28;
  int64_t channels = 1;
  int64_t classes = 10;
  int64_t examples = 4096;
  // Of text.
  int64_t places = 64;
};

// A path is a folder with idx or CIFAR-10 files or of images, or a text. Errors
// name the file, and what provides it.
Result<TrainingData> load_data(const DataRequest& request);

// Whether load_data() would find a file to begin with; quick.
Status find_data(const DataRequest& request);

}  // namespace rondo
