// The parts of register_elementwise_ops, one per file.
#pragma once

#include "rondo/graph/op_registry.h"

namespace rondo {

void register_binary_ops(OpRegistry& ops);
void register_unary_ops(OpRegistry& ops);
void register_activation_ops(OpRegistry& ops);
void register_logic_ops(OpRegistry& ops);

// One output, of the first input's type and the shape that all inputs share.
Status infer_same_shape(InferContext& c);

}  // namespace rondo
