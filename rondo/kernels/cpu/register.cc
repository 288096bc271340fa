#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_cpu_kernels(KernelRegistry& kernels) {
  register_basic_kernels(kernels);
  register_control_kernels(kernels);
  register_row_access_kernels(kernels);
  register_state_kernels(kernels);
  register_elementwise_kernels(kernels);
  register_reduction_kernels(kernels);
  register_array_kernels(kernels);
  register_matrix_kernels(kernels);
  register_nn_kernels(kernels);
  register_conv_kernels(kernels);
  register_random_kernels(kernels);
  register_update_kernels(kernels);
  register_queue_kernels(kernels);
  register_io_kernels(kernels);
  register_summary_kernels(kernels);
  register_print_kernels(kernels);
  register_host_call_kernels(kernels);
  register_dataset_kernels(kernels);
  register_fused_kernels(kernels);
}

}  // namespace rondo
