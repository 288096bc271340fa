// The lists of CPU kernels, one per file of this folder.
#pragma once

#include "rondo/kernels/kernel_registry.h"

namespace rondo {

void register_basic_kernels(KernelRegistry& kernels);
void register_control_kernels(KernelRegistry& kernels);
void register_row_access_kernels(KernelRegistry& kernels);
void register_state_kernels(KernelRegistry& kernels);
void register_elementwise_kernels(KernelRegistry& kernels);
void register_reduction_kernels(KernelRegistry& kernels);
void register_array_kernels(KernelRegistry& kernels);
void register_matrix_kernels(KernelRegistry& kernels);
void register_nn_kernels(KernelRegistry& kernels);
void register_conv_kernels(KernelRegistry& kernels);
void register_random_kernels(KernelRegistry& kernels);
void register_update_kernels(KernelRegistry& kernels);
void register_queue_kernels(KernelRegistry& kernels);
void register_io_kernels(KernelRegistry& kernels);
void register_summary_kernels(KernelRegistry& kernels);
void register_print_kernels(KernelRegistry& kernels);
void register_host_call_kernels(KernelRegistry& kernels);
void register_dataset_kernels(KernelRegistry& kernels);
void register_fused_kernels(KernelRegistry& kernels);

// All of the above.
void register_cpu_kernels(KernelRegistry& kernels);

}  // namespace rondo
