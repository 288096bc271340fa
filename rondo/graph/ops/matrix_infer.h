// Infer functions of operations on matrices.
#pragma once

#include "rondo/graph/op.h"

namespace rondo::infer {

Status matmul(InferContext& c);
Status batch_matmul(InferContext& c);
// One output like the first input, which is a batch of square matrices.
Status square_like_input(InferContext& c);
Status determinant(InferContext& c);
Status solve(InferContext& c);
Status diag(InferContext& c);
Status diag_part(InferContext& c);
Status set_diag(InferContext& c);
Status band_part(InferContext& c);

}  // namespace rondo::infer
