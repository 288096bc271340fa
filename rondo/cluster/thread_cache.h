// ThreadCache: runs functions that may block, each on a thread of its own, and
// keeps threads that are done for the next ones.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "rondo/base/mutex.h"

namespace rondo {

// As many threads as there are functions that run at once: one that waits for
// another is never in its way. Thread-safe.
class ThreadCache {
 public:
  ThreadCache() = default;
  // Waits for all functions.
  ~ThreadCache();
  ThreadCache(const ThreadCache&) = delete;
  void run(std::function<void()> what);

 private:
  void loop();

  Mutex mutex_;
  CondVar wake_;
  bool closing_ RONDO_GUARDED_BY(mutex_) = false;
  size_t idle_ RONDO_GUARDED_BY(mutex_) = 0;
  std::deque<std::function<void()>> queue_ RONDO_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
