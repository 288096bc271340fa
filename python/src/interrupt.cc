#include "interrupt.h"

#include <unistd.h>

#include <optional>
#include <utility>

namespace rondo::python {
namespace {

// Also after a fork, whichever thread it came from, as Python sees it.
bool on_main_thread() { return gettid() == getpid(); }

}  // namespace

class PyInterrupt::MainThread final : public Interrupt {
 public:
  std::optional<nb::python_error> what;

  nb::python_error take() {
    rearm();
    return *std::exchange(what, std::nullopt);
  }

 private:
  bool ask() override {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return false;
    what.emplace();
    state_ = kRaised;
    return true;
  }
};

PyInterrupt::State PyInterrupt::state_ = kNone;
PyInterrupt::MainThread* PyInterrupt::main_thread_ = nullptr;

void PyInterrupt::install() {
  if (!on_main_thread()) return;
  main_thread_ = new MainThread;  // as long as the thread
  state_ = kIdle;
}

bool PyInterrupt::raised() { return state_ == kRaised && on_main_thread(); }

void PyInterrupt::rethrow() {
  if (!on_main_thread()) return;
  state_ = kIdle;
  throw main_thread_->take();
}

void PyInterrupt::keep(nb::python_error& error) {
  if (state_ != kIdle || !on_main_thread()) return;
  main_thread_->what.emplace(std::move(error));
  state_ = kRaised;
}

}  // namespace rondo::python
