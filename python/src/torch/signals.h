// Ctrl-C while the main thread of a Python program waits in an operation.
#pragma once

#include "rondo/base/interrupt.h"

namespace rondo::torch {

// Throws what a handler of Python's raised, on the main thread; on others, and
// in programs without Python, does nothing.
void throw_if_signalled();

// While it lives, an operation that this thread runs is cancelled by a signal
// whose handler raises. after() throws that.
class SignalInterrupt final : public Interrupt {
 public:
  SignalInterrupt();
  void after();

 private:
  bool ask() override;
  const bool main_thread_;
  bool raised_ = false;
};

}  // namespace rondo::torch
