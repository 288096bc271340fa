// Epilogue: what oneDNN does to each element of a product or a convolution
// before it writes it: adds a bias, applies an activation.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "rondo/graph/node.h"

namespace rondo {

struct Epilogue {
  bool bias = false;
  std::optional<dnnl::algorithm> activation;
  float alpha = 0;

  // Of a FusedMatMul or FusedConv2D.
  static Epilogue of(const Node& node);
  // For a primitive that uses a scratchpad of the caller's.
  dnnl::primitive_attr attr() const;
};

}  // namespace rondo
