#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_dataset_kernels(KernelRegistry& /*kernels*/) {}

}  // namespace rondo
