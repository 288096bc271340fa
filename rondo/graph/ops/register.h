// The lists of operations, one per file of this folder.
#pragma once

#include "rondo/graph/op_registry.h"

namespace rondo {

void register_basic_ops(OpRegistry& ops);
void register_control_ops(OpRegistry& ops);
void register_row_access_ops(OpRegistry& ops);
void register_state_ops(OpRegistry& ops);
void register_elementwise_ops(OpRegistry& ops);
void register_reduction_ops(OpRegistry& ops);
void register_array_ops(OpRegistry& ops);
void register_matrix_ops(OpRegistry& ops);
void register_nn_ops(OpRegistry& ops);
void register_conv_ops(OpRegistry& ops);
void register_random_ops(OpRegistry& ops);
void register_update_ops(OpRegistry& ops);
void register_queue_ops(OpRegistry& ops);
void register_io_ops(OpRegistry& ops);
void register_summary_ops(OpRegistry& ops);
void register_print_ops(OpRegistry& ops);
void register_host_call_ops(OpRegistry& ops);
void register_dataset_ops(OpRegistry& ops);
void register_fused_ops(OpRegistry& ops);
void register_transfer_ops(OpRegistry& ops);

// All of the above.
void register_all_ops(OpRegistry& ops);

}  // namespace rondo
