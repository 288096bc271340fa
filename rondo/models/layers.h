// Layers: a model's variables by name, and the layers that use them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "rondo/graph/graph.h"

namespace rondo::models {

// Makes the initial value of a variable of this shape.
using Initial = std::function<Value(Graph&, const Shape&)>;

// Normally distributed with variance 2 / the inputs of an output: for layers
// with relu behind them.
RONDO_API Initial he_normal();
// The same by the outputs of an input.
RONDO_API Initial he_normal_fan_out();
// Uniformly distributed with variance 2 / (inputs + outputs).
RONDO_API Initial glorot_uniform();
RONDO_API Initial normal(double stddev);
RONDO_API Initial filled(double value);

struct ConvOptions {
  int64_t filters = 0;
  int64_t size = 3;  // height and width of the filter
  int64_t stride = 1;
  bool bias = true;
  std::string data_format = "NHWC";
  Initial initial = he_normal();
};

struct NormOptions {
  double momentum = 0.9;  // of the moving averages
  double epsilon = 1e-5;
  bool training = false;
  std::string data_format = "NHWC";
};

// The first call with a name makes the variables, "<scope>/<name>/kernel" and
// so on; later ones with that name share them, so a model that is called twice
// has one set. The names are those of the Python models, and so one reads what
// the other saved. Belongs to one graph: that of the first call.
class RONDO_API Layers {
 public:
  // `compute` is what products and convolutions are computed in: f32, or bf16,
  // to which their inputs are rounded; their results are f32 again, as are
  // variables.
  explicit Layers(std::string scope, DType compute = DType::kF32)
      : scope_(std::move(scope)), compute_(compute) {}

  // A variable of this name; throws when it is there with another shape.
  Value get(Graph& graph, std::string_view name, const Shape& shape,
            const Initial& initial, bool trainable = true);
  // The product of matrices; of x and the second, transposed, where asked.
  Value product(Value x, Value kernel, bool transpose = false) const;
  // x kernel + bias, of x [rows, features].
  Value dense(Value x, std::string_view name, int64_t units,
              const Initial& initial = glorot_uniform());
  // A convolution of images, padded alike on all sides so that with stride 1
  // they keep their size.
  Value conv(Value x, std::string_view name, const ConvOptions& options);
  // Channels of images normalised: by the batch while training, and then what
  // changes the moving averages joins the collection kUpdates; else by those.
  Value batch_norm(Value x, std::string_view name, const NormOptions& options);
  // The last axis normalised.
  Value layer_norm(Value x, std::string_view name);

 private:
  const std::string scope_;
  const DType compute_;
  std::map<std::string, Value, std::less<>> variables_;
};

// Values whose nodes run with every training step; train_op sees to it.
inline constexpr std::string_view kUpdates = "update_ops";

// The extent of an axis of x; throws where it is not known.
RONDO_API int64_t known_extent(Value x, int axis, std::string_view what);

}  // namespace rondo::models
