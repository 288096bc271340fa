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

// What the callable raised ends the communicator on all ranks, since a result
// without it would be wrong, and is raised where the operation is waited for.
class UserOperator {
 public:
  // Borrows: who runs the operation keeps `function` and `dtype` until it is
  // over. `dtype` is the arrays' own.
  UserOperator(nb::handle function, nb::handle dtype, Communicator comm)
      : function_(function), dtype_(dtype), comm_(std::move(comm)) {}

  void apply(void* inout, const void* in, int64_t count);
  // Throws what the callable raised; once the operation is over.
  void rethrow();

 private:
  void fail(const std::string& reason);

  nb::handle function_;
  nb::handle dtype_;
  Communicator comm_;
  std::optional<nb::python_error> raised_;  // by the thread that runs it
};

}  // namespace rondo::python
