// Layers of neural networks but for convolutions: softmax, losses, norms.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
