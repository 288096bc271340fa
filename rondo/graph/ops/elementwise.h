// Element by element, with broadcasting: arithmetic, comparisons, activations.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
