// What ends a call that waits: a signal whose Python handler raises, as
// Ctrl-C's does. Signals are the main thread's in Python; on others nothing
// happens.
#pragma once

#include <nanobind/nanobind.h>

#include "program_call.h"
#include "rondo/base/interrupt.h"

namespace nb = nanobind;

namespace rondo::python {

// The main thread has one Interrupt for good, not one for every call: the
// smallest operations would feel that. All with the GIL.
class PyInterrupt {
 public:
  // Around every call that may wait; after() raises what the handler raised.
  static void before() {
    if (state_ == kNone) [[unlikely]]
      install();
  }
  static void after() {
    if (state_ == kRaised) [[unlikely]]
      rethrow();
  }
  // Between before() and after(), on this thread.
  static bool raised();
  // Python code that the main thread's call ran has been interrupted: the call
  // raises that instead of what it makes of it.
  static void keep(nb::python_error& error);

 private:
  class MainThread;
  enum State { kNone, kIdle, kRaised };
  static void install();
  static void rethrow();

  static State state_;
  static MainThread* main_thread_;
};

// Where there is nobody to raise it to.
class NoInterrupt final : public Interrupt {
  bool ask() override { return false; }
};

// body() without the GIL.
template <class Body>
auto waiting(Body body) {
  PyInterrupt::before();
  auto result = [&] {
    const GilRelease release;
    return body();
  }();
  PyInterrupt::after();
  return result;
}

}  // namespace rondo::python
