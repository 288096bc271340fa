#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_conv_kernels(KernelRegistry&) {}

}  // namespace rondo
