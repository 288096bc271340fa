// The lists of kernels of queues' relatives, for register_queue_kernels.
#pragma once

#include "rondo/kernels/kernel_registry.h"

namespace rondo {

void register_accumulator_kernels(KernelRegistry& kernels);
void register_exchange_kernels(KernelRegistry& kernels);
void register_parameter_kernels(KernelRegistry& kernels);
void register_mutex_kernels(KernelRegistry& kernels);
void register_run_kernels(KernelRegistry& kernels);

}  // namespace rondo
