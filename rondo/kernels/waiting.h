// Waiting: what queues, locks and accumulators have in common. Kernels of any
// run wait in their lists, and whoever changes the state lets them go on.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rondo/kernels/kernel.h"
#include "rondo/kernels/resources.h"

namespace rondo {

// One kernel that waits. It ends once: with what it waited for, with an error
// of the resource, or because its run is cancelled.
class WaitingKernel {
 public:
  WaitingKernel(KernelContext& context, AsyncKernel::Done done)
      : context_(context), done_(std::move(done)) {}
  virtual ~WaitingKernel() = default;
  WaitingKernel(const WaitingKernel&) = delete;
  WaitingKernel& operator=(const WaitingKernel&) = delete;

 protected:
  // Called once the wait has ended well, without any lock: fills the outputs.
  virtual Status deliver(KernelContext& /*context*/) { return {}; }

 private:
  friend class Waitable;
  void finish();

  KernelContext& context_;  // good until done_ is called
  const AsyncKernel::Done done_;
  int wake_ = 0;  // number of its wake in the run's cancellation
  // Guarded by the resource's mutex until it is over.
  bool listed_ = false;
  bool over_ = false;
  Status status_;
};

// A resource that kernels wait for, always owned by a shared_ptr. Functions of
// kernels are called without its mutex, from whichever thread let them go on.
class RONDO_API Waitable : public Resource,
                           public std::enable_shared_from_this<Waitable> {
 protected:
  // Waiters that are over and have to be told.
  using Ended = std::vector<std::shared_ptr<WaitingKernel>>;

  // Has `waiter` listed, or ended at once where its run is cancelled already.
  void wait(const std::shared_ptr<WaitingKernel>& waiter);
  // After a change of state: calls `change` and advance() with the mutex held,
  // then tells those that have ended.
  template <class F>
  void update(F&& change) {
    Ended ended;
    {
      const std::lock_guard lock(mutex_);
      change(ended);
      advance(ended);
    }
    tell(ended);
  }
  // With the mutex held, by the derived class when it takes one off its list.
  static void end(const std::shared_ptr<WaitingKernel>& waiter, Status status,
                  Ended& ended);

  // All with the mutex held. Puts a waiter on its list, or ends it at once:
  virtual void list(const std::shared_ptr<WaitingKernel>& waiter,
                    Ended& ended) = 0;
  // Takes off its list one that is cancelled; gives back what it had taken:
  virtual void unlist(const std::shared_ptr<WaitingKernel>& waiter) = 0;
  // Ends all that need not wait any longer:
  virtual void advance(Ended& ended) = 0;

  mutable std::mutex mutex_;

 private:
  void cancel(const std::shared_ptr<WaitingKernel>& waiter);
  static void tell(const Ended& ended);
};

}  // namespace rondo
