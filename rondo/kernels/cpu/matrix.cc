#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_matrix_kernels(KernelRegistry&) {}

}  // namespace rondo
