#include "rondo/runtime/run_threads.h"

namespace rondo {

RunThreads::~RunThreads() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RunThreads::start(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    // Those that are idle and not yet awake have jobs already.
    if (idle_ < jobs_.size()) threads_.emplace_back([this] { loop(); });
  }
  wake_.notify_one();
}

void RunThreads::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!jobs_.empty()) {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
      continue;
    }
    if (closing_) return;
    ++idle_;
    wake_.wait(lock);
    --idle_;
  }
}

}  // namespace rondo
