// Queues, mutexes and accumulators: what lives between runs and makes them
// wait.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {}  // namespace rondo
