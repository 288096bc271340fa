// Ctrl-C while the main thread of a Python program waits in an operation.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "rondo/base/interrupt.h"

namespace rondo::torch {

// Throws what a handler of Python's raised, on the main thread; on others, and
// in programs without Python, does nothing.
void throw_if_signalled();

// Waits until `over()` or until the deadline, in slices, so that such a handler
// ends the wait. Returns over().
template <class Over>
bool wait_or_throw(std::condition_variable& changed,
                   std::unique_lock<std::mutex>& lock,
                   std::chrono::steady_clock::time_point deadline, Over over) {
  using std::chrono::steady_clock;
  while (!over()) {
    const auto now = steady_clock::now();
    if (now >= deadline) return false;
    const auto slice = std::min<steady_clock::duration>(
        std::chrono::milliseconds(100), deadline - now);
    if (changed.wait_for(lock, slice, over)) break;
    lock.unlock();
    throw_if_signalled();
    lock.lock();
  }
  return true;
}

// While it lives, this thread does not hold Python's lock, whether or not it
// did: for waits for threads that may be in Python.
class WithoutPython {
 public:
  WithoutPython();
  ~WithoutPython();
  WithoutPython(const WithoutPython&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// While it lives, an operation that this thread runs is cancelled by a signal
// whose handler raises. after() throws that.
class SignalInterrupt final : public Interrupt {
 public:
  void after();

 private:
  bool ask() override;
  bool raised_ = false;
};

}  // namespace rondo::torch
