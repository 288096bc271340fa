// PyCause: a Python exception that a failure came from.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "program_call.h"
#include "rondo/base/status.h"

namespace nb = nanobind;

namespace rondo::python {

class PyCause final : public Cause {
 public:
  explicit PyCause(nb::object exception)
      : exception_(share(std::move(exception))) {}

  nb::handle exception() const { return *exception_; }

 private:
  const SharedObject exception_;
};

// What code of the program's raised, as the failure "what raised ValueError:
// why" with that exception as its cause. It has the code of an error of
// Rondo's, and else that of a wrong call. An interrupt is raised again in the
// main thread, and is nothing but a cancellation here. With the GIL.
Status status_of(const nb::python_error& error, std::string_view what);
// The exception that a failure came from; empty when it is none of Python's.
nb::object exception_of(const Status& status);

}  // namespace rondo::python
