#include "rondo/models/images.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/models/layers.h"

namespace rondo::models {

Value halved(Value images, const std::string& data_format) {
  PoolOptions options;
  options.strides = {2, 2};
  options.data_format = data_format;
  return max_pool(images, options);
}

Value flatten(Value x) {
  int64_t count = 1;
  const int rank = x.shape().has_rank() ? x.shape().rank() : 2;
  for (int axis = 1; axis < rank; ++axis)
    count *= known_extent(x, axis, "flatten");
  return reshape(x, Ints{-1, count});
}

}  // namespace rondo::models
