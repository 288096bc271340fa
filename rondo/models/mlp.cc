#include "rondo/models/mlp.h"

#include <fmt/format.h>

#include "rondo/graph/ops/elementwise.h"

namespace rondo::models {

MLP::MLP(MLPOptions options)
    : options_(std::move(options)), layers_(options_.name, options_.compute) {}

Value MLP::operator()(Value x) {
  int number = 0;
  for (const int64_t units : options_.units)
    x = relu(
        layers_.dense(x, fmt::format("dense{}", ++number), units, he_normal()));
  return layers_.dense(x, "logits", options_.classes);
}

}  // namespace rondo::models
