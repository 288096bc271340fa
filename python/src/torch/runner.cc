#include "runner.h"

#include <pthread.h>

#include <utility>

namespace rondo::torch {

thread_local Runner::Within* Runner::innermost_ = nullptr;

struct Runner::Within {
  Within(Runner& r, bool on_own_thread) : runner(r), pooled(on_own_thread) {
    innermost_ = this;
  }
  ~Within() { innermost_ = outer; }

  Runner& runner;
  const bool pooled;   // on a thread of the runner's
  bool aside = false;  // guarded by the runner's lock
  Within* const outer = innermost_;
};

bool Runner::start(Job job) {
  Lock lock(mutex_);
  if (closed_) return false;
  put_behind(std::move(job));
  return true;
}

bool Runner::run_now(const Job& job) {
  Lock lock(mutex_);
  if (closed_ || running_ || !jobs_.empty()) return false;
  execute(job, false, lock);
  return true;
}

bool Runner::close() {
  Lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  return running_ || !jobs_.empty();
}

void Runner::finish() {
  Lock lock(mutex_);
  Within* const callback = within();
  if (callback != nullptr) step_aside(*callback);
  changed_.wait(lock, [&] { return !running_ && jobs_.empty(); });
  auto threads = std::exchange(threads_, {});
  lock.unlock();
  for (std::thread& thread : threads)
    // Other callbacks may wait for this one.
    if (callback != nullptr)
      thread.detach();
    else
      thread.join();
}

void Runner::step_aside() {
  for (Within* one = innermost_; one != nullptr; one = one->outer) {
    Lock lock(one->runner.mutex_);
    one->runner.step_aside(*one);
  }
}

// ---- With the lock held -----------------------------------------------------

void Runner::put_behind(Job job) {
  jobs_.push_back(std::move(job));
  if (Within* const callback = within()) step_aside(*callback);
  if (serving_ == 0) add_thread();
  changed_.notify_all();
}

void Runner::step_aside(Within& within) {
  if (within.aside) return;
  within.aside = true;
  running_ = false;
  if (within.pooled) --serving_;
  if (serving_ == 0 && !jobs_.empty()) add_thread();
  changed_.notify_all();
}

void Runner::add_thread() {
  threads_.emplace_back([self = shared_from_this()] { self->serve(); });
  pthread_setname_np(threads_.back().native_handle(), "rondo-torch");
  ++serving_;
}

Runner::Within* Runner::within() {
  for (Within* one = innermost_; one != nullptr; one = one->outer)
    if (&one->runner == this) return one;
  return nullptr;
}

void Runner::execute(const Job& job, bool pooled, Lock& lock) {
  running_ = true;
  Within here(*this, pooled);
  lock.unlock();
  job();
  lock.lock();
  if (!here.aside)
    running_ = false;
  else if (pooled)
    ++serving_;
  changed_.notify_all();
}

// ---- The threads ------------------------------------------------------------

void Runner::serve() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock,
                  [&] { return !running_ && (closed_ || !jobs_.empty()); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const auto run_and_drop = [&job] {
      job();
      job = nullptr;  // what it holds goes without the lock
    };
    execute(run_and_drop, true, lock);
  }
}

}  // namespace rondo::torch
