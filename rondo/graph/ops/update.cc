#include "rondo/graph/ops/update.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_update_ops(OpRegistry&) {}

}  // namespace rondo
