// PyInterrupt: what ends a call that waits: a signal whose Python handler raises,
// as Ctrl-C's does.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>

#include "rondo/base/interrupt.h"

namespace nb = nanobind;

namespace rondo::python {

// Made around a call, with the GIL. Signals are the main thread's in Python; on
// others it never happens.
class PyInterrupt {
 public:
  PyInterrupt();
  ~PyInterrupt();
  PyInterrupt(const PyInterrupt&) = delete;
  PyInterrupt& operator=(const PyInterrupt&) = delete;

  bool raised() const { return raised_.has_value(); }
  // Throws what the handler raised. With the GIL, when the call is over.
  void rethrow() {
    if (raised_) throw nb::python_error(std::move(*raised_));
  }
  // Python code that the call ran has been interrupted: this thread's call
  // raises that instead of what it makes of it.
  static void keep(nb::python_error& error);

 private:
  bool ask();

  std::optional<nb::python_error> raised_;
  PyInterrupt* outer_;
  Interrupt interrupt_;
};

// body() without the GIL; raises what interrupted it.
template <class Body>
auto waiting(Body body) {
  PyInterrupt interrupt;
  auto result = [&] {
    nb::gil_scoped_release release;
    return body();
  }();
  interrupt.rethrow();
  return result;
}

}  // namespace rondo::python
