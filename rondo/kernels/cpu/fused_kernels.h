// The parts of register_fused_kernels.
#pragma once

#include "rondo/kernels/kernel_registry.h"

namespace rondo {

void register_fused_elementwise_kernels(KernelRegistry& kernels);

}  // namespace rondo
