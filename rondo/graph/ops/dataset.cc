#include "rondo/graph/ops/dataset.h"

#include "rondo/graph/ops/register.h"

namespace rondo {

void register_dataset_ops(OpRegistry& /*ops*/) {}

}  // namespace rondo
