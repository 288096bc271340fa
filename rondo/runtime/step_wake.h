// StepWake: lets threads that work on several parts of a step sleep until one
// of the parts has something to do, or is over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "rondo/base/clock.h"

namespace rondo {

// A thread reads now(), looks at the parts, and sleeps unless something has
// happened since. Any thread.
class StepWake {
 public:
  uint64_t now() const { return events_.load(); }
  void notify() {
    events_.fetch_add(1);
    if (sleepers_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    happened_.notify_all();
  }
  // Returns at the latest after `most`.
  void sleep(uint64_t since, Duration most) {
    std::unique_lock lock(mutex_);
    ++sleepers_;
    happened_.wait_for(lock, most, [&] { return events_.load() != since; });
    --sleepers_;
  }

 private:
  std::atomic<uint64_t> events_{0};
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable happened_;
};

}  // namespace rondo
