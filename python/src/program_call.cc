#include "program_call.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace rondo::python {
namespace {

// How long the end of the program waits for a function of its own.
constexpr auto kPatience = std::chrono::seconds(2);

std::atomic<int> calls{0};
std::atomic<bool> over{false};

}  // namespace

SharedObject share(nb::object object) {
  return SharedObject(new nb::object(std::move(object)), [](nb::object* kept) {
    const ProgramCall call;
    if (call.entered()) delete kept;  // else it ends with the interpreter
  });
}

ProgramCall::ProgramCall() {
  calls.fetch_add(1);
  if (over.load() || !nb::is_alive()) {
    calls.fetch_sub(1);
    return;
  }
  state_ = PyGILState_Ensure();
  entered_ = true;
}

ProgramCall::~ProgramCall() {
  if (!entered_) return;
  PyGILState_Release(state_);
  calls.fetch_sub(1);
}

Status raised(const nb::python_error& error, std::string_view what) {
  if (error.matches(PyExc_KeyboardInterrupt)) {
    // Last: whatever runs Python code behind it would raise it here.
    PyErr_SetInterrupt();
    return Status(Code::kCancelled, "interrupted");
  }
  Code code = Code::kInvalidArgument;
  int number = 0;
  if (nb::hasattr(error.value(), "code") &&
      nb::try_cast(error.value().attr("code"), number) && number >= 1 &&
      number <= static_cast<int>(Code::kOutOfRange))
    code = static_cast<Code>(number);
  return rondo::error(code, "{}: {}: {}", what,
                      Py_TYPE(error.value().ptr())->tp_name,
                      nb::str(error.value()).c_str());
}

void end_program_calls() {
  over.store(true);
  nb::gil_scoped_release release;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (calls.load() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace rondo::python
