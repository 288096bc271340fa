// Cancellation: how a run is told to end before it is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "rondo/base/status.h"

namespace rondo {

// Shared by whoever may end a run and by the kernels that wait in it. Any
// thread.
class RONDO_API Cancellation {
 public:
  // The first reason counts. Calls what on_cancel registered, without a lock,
  // one after the other.
  void cancel(Status reason);
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  Status reason() const;
  // Calls `wake` when the run is cancelled, at once if it is already. Returns a
  // number for forget() and drop().
  int on_cancel(std::function<void()> wake);
  // Once it returns, the function is not called and not running, but for a call
  // from within the function itself.
  void forget(int number);
  // As forget, but does not wait for a function that is running: for those that
  // own what they use.
  void drop(int number);

 private:
  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  // Guarded by mutex_.
  Status reason_;
  int next_ = 0;
  std::map<int, std::function<void()>> wakes_;
  int running_ = -1;            // the one that cancel() is calling
  std::thread::id running_on_;  // the thread that does
};

}  // namespace rondo
