// Saving tensors to a file and reading them back.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {}  // namespace rondo
