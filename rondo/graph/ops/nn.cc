#include "rondo/graph/ops/nn.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_nn_ops(OpRegistry&) {}

}  // namespace rondo
