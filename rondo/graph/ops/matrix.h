// Products, inverses and decompositions of matrices.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

}  // namespace rondo
