#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_queue_kernels(KernelRegistry& /*kernels*/) {}

}  // namespace rondo
