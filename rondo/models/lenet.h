// LeNet: two convolutions and two fully connected layers.
#pragma once

#include "rondo/models/layers.h"

namespace rondo::models {

struct LeNetOptions {
  Ints filters = {32, 64};
  int64_t units = 128;
  int64_t classes = 10;
  double dropout = 0;
  std::string data_format = "NHWC";
  DType compute = DType::kF32;  // see Layers
  std::string name = "lenet";
};

// 5x5 convolutions of `filters`, each pooled by 2, a fully connected layer of
// `units` with dropout, and one of `classes`.
class RONDO_API LeNet {
 public:
  explicit LeNet(LeNetOptions options = {});
  // Logits [batch, classes] of images.
  Value operator()(Value images, bool training = false);

 private:
  const LeNetOptions options_;
  Layers layers_;
};

}  // namespace rondo::models
