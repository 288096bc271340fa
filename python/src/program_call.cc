#include "program_call.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace rondo::python {
namespace {

// How long the end of the program waits for a function of its own.
constexpr auto kPatience = std::chrono::seconds(2);

// Threads that have the GIL for a call, or are about to take it.
std::atomic<int> calls{0};
std::atomic<bool> over{false};
thread_local bool ends_it = false;  // this thread set `over`

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

GilRelease::~GilRelease() {
  calls.fetch_add(1);
  if (over.load() && !ends_it) {
    calls.fetch_sub(1);
    for (;;) ::pause();  // until the process ends
  }
  PyEval_RestoreThread(state_);
  calls.fetch_sub(1);
}

void end_program_calls() {
  ends_it = true;
  over.store(true);
  const GilRelease others_end;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (calls.load() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace rondo::python
