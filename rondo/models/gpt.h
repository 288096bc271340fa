// A transformer that predicts the next token, after GPT-2 (Radford et al.,
// 2019).
#pragma once

#include "rondo/models/layers.h"

namespace rondo::models {

struct GPTOptions {
  int64_t vocabulary = 50257;
  int layers = 12;
  int64_t width = 768;
  int64_t heads = 12;
  int64_t places = 1024;
  double dropout = 0;
  DType compute = DType::kF32;  // see Layers
  std::string name = "gpt";
};

// `layers` blocks of causal attention with `heads` heads and a perceptron, each
// after a layer norm and added to its input. The embedding of the vocabulary is
// also what gives the logits.
class RONDO_API GPT {
 public:
  explicit GPT(GPTOptions options = {});
  // Logits of the next token at each place, [batch, places, vocabulary], of
  // tokens, integers [batch, places].
  Value operator()(Value tokens, bool training = false);

 private:
  // Of rows [batch * places, width].
  Value block(Value x, const std::string& name, int64_t places, bool training);
  Value attention(Value x, const std::string& name, int64_t places);
  Value dense(Value x, const std::string& name, int64_t units);
  Value drop(Value x, bool training) const;

  const GPTOptions options_;
  Layers layers_;
};

}  // namespace rondo::models
