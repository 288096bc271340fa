#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_update_kernels(KernelRegistry&) {}

}  // namespace rondo
