// Ctrl-C while a run goes on.
#pragma once

#include <csignal>

#include "rondo/kernels/cancellation.h"

namespace rondo::python {

// While it lives, SIGINT cancels what it was given, if the interpreter's main
// thread made it and the program left Python's own handler of SIGINT in place;
// that handler has then been told as well, so PyErr_CheckSignals() raises
// KeyboardInterrupt. Made and dropped without regard to the GIL.
class RunInterrupt {
 public:
  explicit RunInterrupt(Cancellation& cancellation);
  ~RunInterrupt();
  RunInterrupt(const RunInterrupt&) = delete;
  RunInterrupt& operator=(const RunInterrupt&) = delete;

 private:
  Cancellation& cancellation_;
  bool armed_ = false;
  struct sigaction before_ {};
};

}  // namespace rondo::python
