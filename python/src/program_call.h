// Functions of the program's that threads of the library's call.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string_view>

#include "rondo/base/status.h"

namespace nb = nanobind;

namespace rondo::python {

// A Python object that any thread may let go, with or without the GIL.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject share(nb::object object);

// While it lives, this thread has the GIL, unless entered() is false: the
// interpreter is about to end, and there is nothing to call any more.
class ProgramCall {
 public:
  ProgramCall();
  ~ProgramCall();
  ProgramCall(const ProgramCall&) = delete;
  ProgramCall& operator=(const ProgramCall&) = delete;

  bool entered() const { return entered_; }
  static Status ended() {
    return Status(Code::kCancelled, "the interpreter is about to end");
  }

 private:
  bool entered_ = false;
  PyGILState_STATE state_{};
};

// What a function raised, as "what: ValueError: why", with the code of an error
// of Rondo's. An interrupt is raised again, in the main thread. With the GIL.
Status raised(const nb::python_error& error, std::string_view what);

// No more calls begin, and those that have begun end. With the GIL.
void end_program_calls();

}  // namespace rondo::python
