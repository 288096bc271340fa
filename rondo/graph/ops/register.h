// The lists of operations, one per file of this folder.
#pragma once

#include "rondo/graph/op_registry.h"

namespace rondo {

void register_basic_ops(OpRegistry& ops);
void register_state_ops(OpRegistry& ops);

// All of the above.
void register_all_ops(OpRegistry& ops);

}  // namespace rondo
