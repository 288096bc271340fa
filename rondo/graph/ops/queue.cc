#include "rondo/graph/ops/queue.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_queue_ops(OpRegistry& /*ops*/) {}

}  // namespace rondo
