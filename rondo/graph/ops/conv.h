// Convolutions and pooling.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
