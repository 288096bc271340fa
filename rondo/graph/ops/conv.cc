#include "rondo/graph/ops/conv.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_conv_ops(OpRegistry&) {}

}  // namespace rondo
