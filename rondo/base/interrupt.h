// Interrupt: how the caller of something that waits ends the wait. Python's
// Ctrl-C is one.
//
// While an Interrupt lives, whatever waits on its thread asks it about ten
// times a second. From the first yes on every Deadline of that thread has
// passed, and a running operation fails its communicator with kCancelled, since
// it cannot be half done. Nothing is asked of what does not wait, so it costs
// nothing there. They nest; the innermost counts.
#pragma once

#include <functional>

#include "rondo/base/clock.h"
#include "rondo/base/export.h"

namespace rondo {

class RONDO_API Interrupt {
 public:
  // `ask` is called on this thread, perhaps with a lock of Rondo's held, until
  // it has said yes.
  explicit Interrupt(std::function<bool()> ask);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Whether what this thread waits for is to be given up.
  static bool raised();

 private:
  std::function<bool()> ask_;
  Interrupt* outer_;
  bool waiting_ = false;
  bool raised_ = false;
  Clock::time_point asked_at_;  // or, at first, when waiting began
};

}  // namespace rondo
