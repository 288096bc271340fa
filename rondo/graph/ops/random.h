// Random numbers from a counter-based generator.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
