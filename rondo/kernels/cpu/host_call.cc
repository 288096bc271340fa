#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_host_call_kernels(KernelRegistry& /*kernels*/) {}

}  // namespace rondo
