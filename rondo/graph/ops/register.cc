#include "rondo/graph/ops/register.h"

namespace rondo {

void register_all_ops(OpRegistry& ops) {
  register_basic_ops(ops);
  register_state_ops(ops);
}

}  // namespace rondo
