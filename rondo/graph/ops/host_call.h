// A function of the program's own as an operation.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {}  // namespace rondo
