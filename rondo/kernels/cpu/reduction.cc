#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_reduction_kernels(KernelRegistry&) {}

}  // namespace rondo
