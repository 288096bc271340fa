#include "rondo/graph/ops/register.h"

namespace rondo {

void register_all_ops(OpRegistry& ops) {
  register_basic_ops(ops);
  register_control_ops(ops);
  register_row_access_ops(ops);
  register_state_ops(ops);
  register_elementwise_ops(ops);
  register_reduction_ops(ops);
  register_array_ops(ops);
  register_matrix_ops(ops);
  register_nn_ops(ops);
  register_conv_ops(ops);
  register_random_ops(ops);
  register_update_ops(ops);
  register_queue_ops(ops);
  register_io_ops(ops);
  register_summary_ops(ops);
  register_print_ops(ops);
  register_host_call_ops(ops);
  register_dataset_ops(ops);
  register_fused_ops(ops);
  register_transfer_ops(ops);
}

}  // namespace rondo
