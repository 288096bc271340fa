// MutexResource: a lock that runs take, one at a time, in the order in which
// they asked.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "rondo/kernels/waiting.h"

namespace rondo {

class RONDO_API MutexResource final : public Waitable {
 public:
  // Ends by `done` once the run holds the lock: its HeldLocks has it then, and
  // output 0 is its number there.
  void acquire(KernelContext& context, AsyncKernel::Done done);
  void release();

 private:
  struct Asking;

  void list(const std::shared_ptr<WaitingKernel>& waiter,
            Ended& ended) override;
  void unlist(const std::shared_ptr<WaitingKernel>& waiter) override;
  void advance(Ended& ended) override;

  // Guarded by mutex_.
  bool held_ = false;
  std::deque<std::shared_ptr<WaitingKernel>> asking_;
};

// The locks that a run holds, among the resources of that run: they are let go
// with it. Any thread.
class RONDO_API HeldLocks final : public Resource {
 public:
  // Of this run.
  static std::shared_ptr<HeldLocks> of(KernelContext& context);

  HeldLocks() = default;
  ~HeldLocks() override;
  HeldLocks(const HeldLocks&) = delete;
  HeldLocks& operator=(const HeldLocks&) = delete;

  int64_t add(std::shared_ptr<MutexResource> lock);
  // Lets it go; false when this run does not hold it.
  bool release(int64_t number, const MutexResource& lock);

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  int64_t next_ = 1;
  std::map<int64_t, std::shared_ptr<MutexResource>> locks_;
};

}  // namespace rondo
