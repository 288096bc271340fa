// RunScope: a kernel that has to know of every run of its step, even of one
// that never comes to it.
#pragma once

#include "rondo/base/status.h"
#include "rondo/kernels/resources.h"

namespace rondo {

class RunScope {
 public:
  virtual ~RunScope() = default;
  // Before any node of the run starts.
  virtual void begin_run(Resources& of_run) = 0;
  // In place of the kernel: it is in a branch that was not taken. An error
  // fails the run.
  virtual Status left_out(Resources& of_run) = 0;
  // After all have ended, with how the run did.
  virtual void end_run(Resources& of_run, const Status& status) = 0;
};

}  // namespace rondo
