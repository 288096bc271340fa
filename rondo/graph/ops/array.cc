#include "rondo/graph/ops/array.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_array_ops(OpRegistry&) {}

}  // namespace rondo
