// PyCause: a Python exception that a failure came from.
#pragma once

#include <nanobind/nanobind.h>

#include "rondo/base/status.h"

namespace nb = nanobind;

namespace rondo::python {

class PyCause final : public Cause {
 public:
  explicit PyCause(nb::object exception) : exception_(std::move(exception)) {}
  ~PyCause() override;
  PyCause(const PyCause&) = delete;
  PyCause& operator=(const PyCause&) = delete;

  nb::handle exception() const { return exception_; }

 private:
  nb::object exception_;
};

// What code that Python's own called raised, as a failure: with the code of a
// rondo.Error, and else with that of a wrong call. With the GIL.
Status status_of(const nb::python_error& error);
// The exception that a failure came from; empty when it is none of Python's.
nb::object exception_of(const Status& status);

}  // namespace rondo::python
