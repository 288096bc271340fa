// Small steps that models of images share.
#pragma once

#include <string>

#include "rondo/graph/graph.h"

namespace rondo::models {

// The largest of each 2x2 elements.
RONDO_API Value halved(Value images, const std::string& data_format);
// All axes but the first as one; their extents must be known.
RONDO_API Value flatten(Value x);

}  // namespace rondo::models
