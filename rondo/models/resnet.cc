#include "rondo/models/resnet.h"

#include <fmt/format.h>

#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/graph/ops/reduction.h"

namespace rondo::models {

ResNet::ResNet(ResNetOptions options)
    : options_(std::move(options)), layers_(options_.name, options_.compute) {}

Value ResNet::operator()(Value images, bool training) {
  Value x =
      relu(conv(images, "stem",
                {.filters = options_.width, .size = 7, .stride = 2}, training));
  PoolOptions pool;
  pool.ksize = {3, 3};
  pool.strides = {2, 2};
  pool.padding = "EXPLICIT";
  pool.paddings = {1, 1, 1, 1};
  pool.data_format = options_.data_format;
  x = max_pool(x, pool);
  int64_t width = options_.width;
  int group = 0;
  for (const int64_t blocks : options_.blocks) {
    ++group;
    for (int64_t i = 1; i <= blocks; ++i)
      x = block(x, fmt::format("block{}_{}", group, i), width,
                group > 1 && i == 1 ? 2 : 1, training);
    width *= 2;
  }
  const Ints places = options_.data_format == "NHWC" ? Ints{1, 2} : Ints{2, 3};
  return layers_.dense(reduce_mean(x, {.axes = places}), "logits",
                       options_.classes);
}

Value ResNet::block(Value x, const std::string& name, int64_t width,
                    int64_t stride, bool training) {
  const int axis = options_.data_format == "NHWC" ? 3 : 1;
  const bool same = stride == 1 && x.shape()[axis] == 4 * width;
  Value y = relu(conv(x, name + "/conv1", {.filters = width}, training));
  y = relu(conv(y, name + "/conv2",
                {.filters = width, .size = 3, .stride = stride}, training));
  y = conv(y, name + "/conv3", {.filters = 4 * width}, training);
  if (!same)
    x = conv(x, name + "/shortcut", {.filters = 4 * width, .stride = stride},
             training);
  return relu(y + x);
}

Value ResNet::conv(Value x, const std::string& name, const Conv& conv,
                   bool training) {
  x = layers_.conv(x, name + "/conv",
                   {.filters = conv.filters,
                    .size = conv.size,
                    .stride = conv.stride,
                    .bias = false,
                    .data_format = options_.data_format,
                    .initial = he_normal_fan_out()});
  return layers_.batch_norm(x, name + "/norm",
                            {.momentum = options_.momentum,
                             .epsilon = options_.epsilon,
                             .training = training,
                             .data_format = options_.data_format});
}

}  // namespace rondo::models
