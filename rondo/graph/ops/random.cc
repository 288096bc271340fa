#include "rondo/graph/ops/random.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_random_ops(OpRegistry&) {}

}  // namespace rondo
