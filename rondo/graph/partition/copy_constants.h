// Copies of constants, so that they need not be sent.
#pragma once

#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// Gives each device whose nodes take one of `constants`, which is on another, a
// Const of its own: "name/copy". All nodes have devices.
RONDO_API void copy_constants(const std::vector<Node*>& constants,
                              Graph& graph);

}  // namespace rondo
