// Monotonic time. Every wait in Rondo ends at a Deadline.
#pragma once

#include <chrono>

#include "rondo/base/export.h"

namespace rondo {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;

// Seconds as a Duration, for options that people write as 2.5.
RONDO_API Duration seconds(double s);
RONDO_API double to_seconds(Duration d);

// A point in time by which something has to be over.
class RONDO_API Deadline {
 public:
  explicit Deadline(Duration from_now);
  static Deadline never() { return Deadline(Clock::time_point::max()); }

  // Also once this thread's wait was interrupted (Interrupt).
  bool passed() const;
  // What is left, never negative.
  Duration left() const;
  // For poll(2): milliseconds left, rounded up, at most `cap_ms`.
  int poll_ms(int cap_ms) const;

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace rondo
