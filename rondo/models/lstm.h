// A long short-term memory that classifies sequences.
#pragma once

#include <vector>

#include "rondo/models/layers.h"

namespace rondo::models {

struct LSTMOptions {
  int64_t units = 128;
  int layers = 1;
  int64_t classes = 10;
  double forget_bias = 1;
  DType compute = DType::kF32;  // see Layers
  std::string name = "lstm";
};

// `layers` layers of `units`, unrolled over the steps, and a fully connected
// layer of `classes` on the last step's output.
class RONDO_API LSTM {
 public:
  explicit LSTM(LSTMOptions options = {});
  // Logits [batch, classes] of x [batch, steps, features].
  Value operator()(Value x);

 private:
  // The outputs of all steps, of x [steps, batch, features].
  std::vector<Value> layer(Value x, const std::string& name);

  const LSTMOptions options_;
  Layers layers_;
};

}  // namespace rondo::models
