#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_io_kernels(KernelRegistry& /*kernels*/) {}

}  // namespace rondo
