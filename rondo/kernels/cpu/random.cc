#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_random_kernels(KernelRegistry&) {}

}  // namespace rondo
