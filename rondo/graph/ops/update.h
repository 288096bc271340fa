// Optimizers, each update of a variable as one operation.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
