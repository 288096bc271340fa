#include "runner.h"

#include <pthread.h>

namespace rondo::torch {

Runner::~Runner() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  // The last reference may go with the last job, on the thread itself.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

void Runner::start(Job job) {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve(); });
    pthread_setname_np(thread_.native_handle(), "rondo-torch");
  }
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

void Runner::run(Job job) {
  {
    std::unique_lock lock(mutex_);
    // A callback of a job that waits for another one would wait for ever.
    const bool within = thread_.get_id() == std::this_thread::get_id();
    if (!within) {
      if (running_ || !jobs_.empty()) {
        lock.unlock();
        start(std::move(job));
        return;
      }
      running_ = true;
    } else {
      lock.unlock();
      job();
      return;
    }
  }
  job();
  std::lock_guard lock(mutex_);
  running_ = false;
  if (!jobs_.empty() || stopped_) changed_.notify_all();
}

bool Runner::busy() const {
  std::lock_guard lock(mutex_);
  return running_ || !jobs_.empty();
}

void Runner::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock,
                  [&] { return !running_ && (stopped_ || !jobs_.empty()); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    running_ = true;
    lock.unlock();
    job();
    job = nullptr;  // what it holds goes without the lock
    lock.lock();
    running_ = false;
  }
}

}  // namespace rondo::torch
