// Sums, means, maxima and their like over axes.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
