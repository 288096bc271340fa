// ActiveRuns: the runs of a session, so that closing it ends them.
#pragma once

#include <mutex>
#include <vector>

#include "rondo/kernels/cancellation.h"

namespace rondo {

// Any thread.
class ActiveRuns {
 public:
  // A run, known to close() while it lives.
  class Entry {
   public:
    Entry(ActiveRuns& runs, Cancellation& run) : runs_(runs), run_(run) {
      const std::lock_guard lock(runs.mutex_);
      runs.runs_.push_back(&run);
      if (runs.closed_) run.cancel(closed());
    }
    ~Entry() {
      const std::lock_guard lock(runs_.mutex_);
      std::erase(runs_.runs_, &run_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    ActiveRuns& runs_;
    Cancellation& run_;
  };

  // Ends those that go on, and every later one at once.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Cancellation* run : runs_) run->cancel(closed());
  }

 private:
  static Status closed() {
    return error(Code::kCancelled, "the session was closed");
  }

  std::mutex mutex_;
  // Guarded by mutex_.
  bool closed_ = false;
  std::vector<Cancellation*> runs_;
};

}  // namespace rondo
