// Interrupt: how the caller of something that waits ends the wait. Python's
// Ctrl-C is one.
//
// While an Interrupt lives, whatever waits on its thread asks it about ten
// times a second. From the first yes on every Deadline of that thread has
// passed, and a running operation fails its communicator with kCancelled, since
// it cannot be half done. What does not wait asks nothing. They nest; the
// innermost counts.
#pragma once

#include "rondo/base/clock.h"
#include "rondo/base/export.h"

namespace rondo {

class RONDO_API Interrupt {
 public:
  Interrupt() noexcept;
  virtual ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Whether what this thread waits for is to be given up.
  static bool raised();

 protected:
  // What was given up is over: it may be asked again.
  void rearm() { raised_ = false; }

 private:
  // On this thread, perhaps with a lock of Rondo's held, until it says yes.
  virtual bool ask() = 0;

  Interrupt* const outer_;
  bool raised_ = false;
  Clock::time_point asked_at_;
};

}  // namespace rondo
