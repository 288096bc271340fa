// A multi-layer perceptron.
#pragma once

#include "rondo/models/layers.h"

namespace rondo::models {

struct MLPOptions {
  Ints units = {1024, 1024};
  int64_t classes = 10;
  DType compute = DType::kF32;  // see Layers
  std::string name = "mlp";
};

// Fully connected layers of `units` with relu, then one of `classes`.
class RONDO_API MLP {
 public:
  explicit MLP(MLPOptions options = {});
  // Logits [batch, classes] of x [batch, features].
  Value operator()(Value x);

 private:
  const MLPOptions options_;
  Layers layers_;
};

}  // namespace rondo::models
