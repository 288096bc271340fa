// Threads between the library and the interpreter: functions of the program's
// that the library calls, calls of the library's that wait, and the end of
// both.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

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

// While it lives, this thread waits or works without the GIL. Once the program
// is about to end, a thread does not come back from here, unless it is the one
// that ends it: Python would end the thread where it takes the GIL, and that
// within C++ ends the process.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* const state_;
};

// No more calls begin, and those that have begun end. With the GIL.
void end_program_calls();

}  // namespace rondo::python
