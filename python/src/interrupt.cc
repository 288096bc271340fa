#include "interrupt.h"

#include <unistd.h>

namespace rondo::python {
namespace {

thread_local PyInterrupt* innermost = nullptr;

}  // namespace

PyInterrupt::PyInterrupt()
    : outer_(std::exchange(innermost, this)), interrupt_([this] {
        return ask();
      }) {}

PyInterrupt::~PyInterrupt() { innermost = outer_; }

void PyInterrupt::keep(nb::python_error& error) {
  if (innermost != nullptr && !innermost->raised_)
    innermost->raised_.emplace(std::move(error));
}

bool PyInterrupt::ask() {
  // Others would find nothing, and at the interpreter's end must not ask.
  if (gettid() != getpid()) return false;
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  raised_.emplace();
  return true;
}

}  // namespace rondo::python
