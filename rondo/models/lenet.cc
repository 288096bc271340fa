#include "rondo/models/lenet.h"

#include <fmt/format.h>

#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/models/images.h"

namespace rondo::models {

LeNet::LeNet(LeNetOptions options)
    : options_(std::move(options)), layers_(options_.name, options_.compute) {}

Value LeNet::operator()(Value images, bool training) {
  Value x = images;
  int number = 0;
  for (const int64_t filters : options_.filters) {
    x = relu(layers_.conv(
        x, fmt::format("conv{}", ++number),
        {.filters = filters, .size = 5, .data_format = options_.data_format}));
    x = halved(x, options_.data_format);
  }
  x = relu(layers_.dense(flatten(x), "dense1", options_.units, he_normal()));
  if (training && options_.dropout > 0)
    x = dropout(x, {.rate = options_.dropout});
  return layers_.dense(x, "logits", options_.classes);
}

}  // namespace rondo::models
