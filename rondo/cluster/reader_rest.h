// ReaderRest: when a connection's own thread leaves reading to the threads that
// wait for answers.
#pragma once

#include <atomic>

#include "rondo/base/mutex.h"

namespace rondo {

// A thread that reads its answer itself need not be woken by another one, which
// takes a good part of a short call. So once a few calls in a row were waited
// for, each the only one, the own thread rests. It is back as soon as somebody
// waits who does not read, and when nobody has read for a moment, for what
// comes unasked. Any thread.
class ReaderRest {
 public:
  // Of the own thread, while it reads: whether it is to rest. Not while
  // `expects`, which is set before one of the calls below.
  bool begin(const std::atomic<bool>& expects) {
    const MutexLock lock(mutex_);
    return resting_ = in_a_row_ >= kEnough && !expects;
  }
  // After begin(), when others can read.
  void rest() {
    const MutexLock lock(mutex_);
    while (in_a_row_ >= kEnough) {
      const uint64_t before = read_;
      over_.wait_for(mutex_, kMoment);
      if (read_ == before) in_a_row_ = 0;
    }
    resting_ = false;
  }
  // A caller reads.
  void reads() { ++read_; }
  // A caller, the only one, waits and could not read, since somebody else does:
  // the own thread, which may rest from the next call on, or an earlier caller,
  // whose call has just ended.
  void waits() {
    const MutexLock lock(mutex_);
    if (resting_)
      end();
    else
      ++in_a_row_;
  }
  // Somebody needs the own thread.
  void wake() {
    const MutexLock lock(mutex_);
    end();
  }

 private:
  static constexpr int kEnough = 3;
  static constexpr Duration kMoment = std::chrono::milliseconds(5);

  void end() RONDO_REQUIRES(mutex_) {
    in_a_row_ = 0;
    if (resting_) over_.notify_all();
  }

  Mutex mutex_;
  CondVar over_;
  bool resting_ RONDO_GUARDED_BY(mutex_) = false;
  int in_a_row_ RONDO_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> read_ = 0;  // times that a caller did
};

}  // namespace rondo
