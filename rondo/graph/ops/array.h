// Cutting, joining, moving and looking up elements.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
