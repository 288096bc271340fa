#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_array_kernels(KernelRegistry&) {}

}  // namespace rondo
