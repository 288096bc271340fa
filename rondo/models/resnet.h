// ResNet of bottleneck blocks (He et al., 2015), with the stride of a block at
// its 3x3 convolution.
#pragma once

#include "rondo/models/layers.h"

namespace rondo::models {

// The default is ResNet-50.
struct ResNetOptions {
  Ints blocks = {3, 4, 6, 3};  // of each group
  int64_t width = 64;
  int64_t classes = 1000;
  double momentum = 0.9;
  double epsilon = 1e-5;
  std::string data_format = "NHWC";
  DType compute = DType::kF32;  // see Layers
  std::string name = "resnet";
};

// A 7x7 convolution of stride 2, pooling by 2, then groups of blocks: 1x1, 3x3
// and 1x1 convolutions with batch normalisation, their result added to their
// input. The width, at first `width` and 4 * `width` at a block's end, doubles
// and the image halves from group to group.
class RONDO_API ResNet {
 public:
  explicit ResNet(ResNetOptions options = {});
  // Logits [batch, classes] of images.
  Value operator()(Value images, bool training = false);

 private:
  struct Conv {
    int64_t filters = 0;
    int64_t size = 1;
    int64_t stride = 1;
  };
  // A convolution and batch normalisation.
  Value conv(Value x, const std::string& name, const Conv& conv, bool training);
  Value block(Value x, const std::string& name, int64_t width, int64_t stride,
              bool training);

  const ResNetOptions options_;
  Layers layers_;
};

}  // namespace rondo::models
