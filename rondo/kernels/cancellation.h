// Cancellation: how a run is told to end before it is done.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

#include "rondo/base/status.h"

namespace rondo {

// Shared by whoever may end a run and by the kernels that wait in it. Any
// thread.
class RONDO_API Cancellation {
 public:
  // The first reason counts. Calls what on_cancel registered.
  void cancel(Status reason);
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  Status reason() const;
  // Calls `wake` when the run is cancelled, at once if it is already. Returns a
  // number for forget(). A wake may end its kernel's run.
  int on_cancel(std::function<void()> wake);
  // Once it returns, the function is not called and not running.
  void forget(int number);

 private:
  std::atomic<bool> cancelled_{false};
  mutable std::recursive_mutex mutex_;
  Status reason_;  // written once, before cancelled_ is set
  // Guarded by mutex_.
  int next_ = 0;
  std::map<int, std::function<void()>> wakes_;
};

}  // namespace rondo
