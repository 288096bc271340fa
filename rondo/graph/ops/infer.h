// Infer functions that many operations share.
#pragma once

#include "rondo/graph/op.h"

namespace rondo::infer {

// One output, of the type and shape of the first input.
Status like_input(InferContext& c);
// One output, of the first input's type and the shape that all inputs have when
// broadcast together.
Status broadcast_inputs(InferContext& c);
// The same with bool elements.
Status compare_inputs(InferContext& c);
// No output.
Status nothing(InferContext& c);

}  // namespace rondo::infer
