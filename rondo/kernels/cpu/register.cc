#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_cpu_kernels(KernelRegistry& kernels) {
  register_basic_kernels(kernels);
  register_state_kernels(kernels);
}

}  // namespace rondo
