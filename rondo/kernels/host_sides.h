// HostSides: what a kernel says of its inputs and outputs when some of them are
// in the host's memory and the device's are not.
#pragma once

#include "rondo/base/export.h"

namespace rondo {

// For kernels of devices with memory of their own, besides Kernel: which inputs
// they read on the host, such as a shape, and which outputs they leave there.
// The executor moves them.
class RONDO_API HostSides {
 public:
  virtual ~HostSides() = default;
  virtual bool host_input(int /*i*/) const { return false; }
  virtual bool host_output(int /*i*/) const { return false; }
};

}  // namespace rondo
