// The next element of an iterator over a data set.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {}  // namespace rondo
