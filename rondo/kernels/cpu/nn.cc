#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_nn_kernels(KernelRegistry&) {}

}  // namespace rondo
