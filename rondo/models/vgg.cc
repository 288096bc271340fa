#include "rondo/models/vgg.h"

#include <fmt/format.h>

#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/models/images.h"

namespace rondo::models {

VGG::VGG(VGGOptions options)
    : options_(std::move(options)), layers_(options_.name, options_.compute) {}

Value VGG::operator()(Value images, bool training) {
  Value x = images;
  int stack = 0;
  for (const auto& [convolutions, filters] : options_.stacks) {
    ++stack;
    for (int i = 1; i <= convolutions; ++i)
      x = relu(layers_.conv(
          x, fmt::format("conv{}_{}", stack, i),
          {.filters = filters, .data_format = options_.data_format}));
    x = halved(x, options_.data_format);
  }
  x = flatten(x);
  for (const char* name : {"dense1", "dense2"}) {
    x = relu(layers_.dense(x, name, options_.units, he_normal()));
    if (training && options_.dropout > 0)
      x = dropout(x, {.rate = options_.dropout});
  }
  return layers_.dense(x, "logits", options_.classes);
}

}  // namespace rondo::models
