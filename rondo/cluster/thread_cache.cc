#include "rondo/cluster/thread_cache.h"

namespace rondo {

ThreadCache::~ThreadCache() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    threads.swap(threads_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

void ThreadCache::run(std::function<void()> what) {
  const MutexLock lock(mutex_);
  queue_.push_back(std::move(what));
  if (queue_.size() > idle_) threads_.emplace_back([this] { loop(); });
  wake_.notify_one();
}

void ThreadCache::loop() {
  for (;;) {
    std::function<void()> what;
    {
      const MutexLock lock(mutex_);
      ++idle_;
      while (queue_.empty() && !closing_) wake_.wait(mutex_);
      --idle_;
      if (queue_.empty()) return;
      what = std::move(queue_.front());
      queue_.pop_front();
    }
    what();
  }
}

}  // namespace rondo
