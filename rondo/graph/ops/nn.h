// Layers of neural networks but for convolutions: softmax, losses, norms,
// recurrent cells, attention.
#pragma once

#include <optional>
#include <string>

#include "rondo/graph/graph.h"

namespace rondo {

// x plus a vector along its channels: the last axis for "NHWC", axis 1 for
// "NCHW", whatever the rank.
RONDO_API Value bias_add(Value x, Value bias, std::string data_format = "NHWC");
RONDO_API Value softmax(Value logits, int64_t axis = -1);
RONDO_API Value log_softmax(Value logits, int64_t axis = -1);

// Losses, one per row of the last axis. `labels` are distributions.
RONDO_API Value softmax_cross_entropy_with_logits(Value logits, Value labels);
// `labels` are the places of the right classes.
RONDO_API Value sparse_softmax_cross_entropy_with_logits(Value logits,
                                                         Value labels);
// One per element.
RONDO_API Value sigmoid_cross_entropy_with_logits(Value logits, Value labels);

// Each element of x set to 0 with probability `rate`, the others scaled so that
// the expected sum stays. seed 0: the graph's.
struct DropoutOptions {
  double rate = 0.5;
  int64_t seed = 0;
};
RONDO_API Value dropout(Value x, DropoutOptions options);

// Normalises the last axis to mean 0 and variance 1, then scales and shifts it.
RONDO_API Value layer_norm(Value x, Value scale, Value offset,
                           double epsilon = 1e-5);

struct BatchNormInputs {
  Value x, scale, offset;
  // Only without is_training.
  Value mean = {}, variance = {};
};
struct BatchNormOptions {
  double epsilon = 1e-3;
  std::string data_format = "NHWC";
  bool is_training = true;
};
struct BatchNorm {
  Value y;
  Value batch_mean;
  Value batch_variance;  // unbiased, for a moving average
};
RONDO_API BatchNorm fused_batch_norm(const BatchNormInputs& inputs,
                                     BatchNormOptions options = {});

struct LrnOptions {
  int64_t depth_radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
};
// Local response normalisation over the last axis.
RONDO_API Value lrn(Value x, LrnOptions options = {});

struct CellState {
  Value h;
  Value c;
};
struct CellWeights {
  Value x;     // [inputs, gates * units]
  Value h;     // [units, gates * units]
  Value bias;  // [gates * units]
};
// One step of a long short-term memory; gates in the order input, candidate,
// forget, output.
RONDO_API CellState lstm_cell(Value x, CellState state, CellWeights weights,
                              double forget_bias = 1);
// The same without its products: from the input's and the state's parts of the
// gates, [batch, 4 units]. The input's for all steps can be one product.
RONDO_API CellState lstm_gates(Value from_x, Value from_h, Value c,
                               double forget_bias = 1);
// One step of a gated recurrent unit, which gives the new h; gates in the order
// reset, update, candidate. Reset is applied behind the product with weights.h.
// `h_bias` [3 * units] is added to that product, where there is one.
RONDO_API Value gru_cell(Value x, Value h, CellWeights weights,
                         Value h_bias = {});

struct AttentionOptions {
  bool causal = false;          // a query sees keys up to its own place only
  Value mask = {};              // added to the scores, where there is one
  std::optional<double> scale;  // of the scores; none: 1 / sqrt(depth)
};
// softmax(scale query key^T + mask) value over the last two axes, [places,
// depth].
RONDO_API Value scaled_dot_product_attention(Value query, Value key,
                                             Value value,
                                             AttentionOptions options = {});

}  // namespace rondo
