// Convolutions by plain loops, for the element type that oneDNN has none for.
#pragma once

#include "rondo/kernels/cpu/conv_shape.h"

namespace rondo {

// The tensor that `direction` is about is written, the other two are read; all
// are contiguous, in the formats of the operation.
void conv_direct(ConvDirection direction, const ConvShape& shape, double* x,
                 double* filter, double* y);

}  // namespace rondo
