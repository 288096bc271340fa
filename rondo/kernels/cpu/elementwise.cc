#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_elementwise_kernels(KernelRegistry&) {}

}  // namespace rondo
