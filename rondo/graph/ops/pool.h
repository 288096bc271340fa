// Pooling of images: one element for each position of a window.
#pragma once

#include "rondo/graph/graph.h"
#include "rondo/graph/ops/window.h"

namespace rondo {

struct PoolOptions : WindowOptions {
  std::array<int64_t, 2> ksize = {2, 2};  // height and width of the window
  std::string name = {};
};

// Padding counts for nothing: neither as a maximum nor in an average. Windows
// of pooling have no dilations.
RONDO_API Value max_pool(Value x, const PoolOptions& options = {});
RONDO_API Value avg_pool(Value x, const PoolOptions& options = {});

// The window of a pooling of images, which have rank 4, by its attributes; an
// error says what makes no sense.
RONDO_API Result<WindowOptions> pool_window(int rank, const Attrs& attrs);
// What pooling makes of an image of shape x; for infer functions and kernels.
RONDO_API Result<PartialShape> pool_output_shape(const PartialShape& x,
                                                 const Attrs& attrs);
// The type of MaxPool's second output, by the attributes.
RONDO_API DType pool_index_type(const Attrs& attrs);

class OpRegistry;
void register_pool_ops(OpRegistry& ops);

}  // namespace rondo
