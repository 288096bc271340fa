// A Python callable f(inout, in) as an operator of a reduction.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "rondo/collectives/communicator.h"

namespace nb = nanobind;

namespace rondo::python {

// From now on no operator calls into Python: the interpreter goes.
void stop_calling_python();

// What the callable raised fails the operation, and is raised where that is
// waited for.
class UserOperator {
 public:
  // Borrows: who runs the operation keeps `function` and `dtype` until it is
  // over. `dtype` is the arrays' own.
  UserOperator(nb::handle function, nb::handle dtype)
      : function_(function), dtype_(dtype) {}

  Status apply(void* inout, const void* in, int64_t count);
  // Throws what the callable raised; once the operation is over.
  void rethrow();

 private:
  nb::handle function_;
  nb::handle dtype_;
  std::optional<nb::python_error> raised_;  // by the thread that runs it
};

}  // namespace rondo::python
