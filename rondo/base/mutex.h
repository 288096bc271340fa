// Mutex, MutexLock and CondVar: the standard ones, with the annotations from
// which clang's thread-safety analysis learns which lock guards what. A member
// that a lock guards says so:
//
//   Mutex mutex_;
//   int count_ RONDO_GUARDED_BY(mutex_) = 0;
//
// and touching it without the lock is an error wherever clang compiles. Other
// compilers see plain code.
#pragma once

#include <condition_variable>
#include <mutex>

#include "rondo/base/clock.h"

#if defined(__clang__)
#define RONDO_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define RONDO_THREAD_ANNOTATION(x)
#endif

// At a member: touched only with the lock held.
#define RONDO_GUARDED_BY(mutex) RONDO_THREAD_ANNOTATION(guarded_by(mutex))
// At a function: called only with the lock held, or only without it.
#define RONDO_REQUIRES(...) \
  RONDO_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define RONDO_EXCLUDES(...) RONDO_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// At a lock: taken, where both are, before the other.
#define RONDO_ACQUIRED_BEFORE(...) \
  RONDO_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

namespace rondo {

class RONDO_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() RONDO_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() RONDO_THREAD_ANNOTATION(release_capability()) {
    mutex_.unlock();
  }
  bool try_lock() RONDO_THREAD_ANNOTATION(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex from where it is declared to the end of the block.
class RONDO_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex)
      RONDO_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() RONDO_THREAD_ANNOTATION(release_capability()) {
    mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits give up the mutex meanwhile and may return without a reason: whoever
// waits looks again in a loop. The analysis does not see into lambdas, so there
// are no waits that take a predicate.
class CondVar {
 public:
  void wait(Mutex& mutex) RONDO_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void wait_for(Mutex& mutex, Duration time) RONDO_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, time);
    lock.release();
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace rondo
