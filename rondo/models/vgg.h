// VGG: stacks of 3x3 convolutions (Simonyan and Zisserman, 2014).
#pragma once

#include <vector>

#include "rondo/models/layers.h"

namespace rondo::models {

struct VGGStack {
  int convolutions = 0;
  int64_t filters = 0;
};

// The default is VGG-16.
struct VGGOptions {
  std::vector<VGGStack> stacks = {
      {2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  int64_t units = 4096;
  int64_t classes = 1000;
  double dropout = 0.5;
  std::string data_format = "NHWC";
  DType compute = DType::kF32;  // see Layers
  std::string name = "vgg";
};

// For each stack its convolutions, then pooling by 2; then two fully connected
// layers of `units` with dropout, and one of `classes`.
class RONDO_API VGG {
 public:
  explicit VGG(VGGOptions options = {});
  // Logits [batch, classes] of images.
  Value operator()(Value images, bool training = false);

 private:
  const VGGOptions options_;
  Layers layers_;
};

}  // namespace rondo::models
