// The parts of the family of matrix kernels.
#pragma once

#include "rondo/kernels/cpu/register.h"

namespace rondo {

void register_solve_kernels(KernelRegistry& kernels);
void register_diag_kernels(KernelRegistry& kernels);

}  // namespace rondo
