#include "rondo/runtime/worker_pool.h"

#include <algorithm>

namespace rondo {

WorkerPool::WorkerPool(int threads, const std::function<void()>& at_start) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this, at_start] { loop(at_start); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(const std::function<void()>& work) {
  if (threads_.empty()) {
    work();
    return;
  }
  Job job{&work, static_cast<int>(threads_.size())};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
  }
  wake_.notify_all();
  work();
  std::unique_lock lock(mutex_);
  std::erase(jobs_, &job);
  left_.wait(lock, [&] { return job.working == 0; });
}

void WorkerPool::loop(const std::function<void()>& at_start) {
  at_start();
  std::unique_lock lock(mutex_);
  for (;;) {
    Job* open = nullptr;
    for (Job* job : jobs_)
      if (job->joins_left > 0) open = job;
    if (open) {
      --open->joins_left;
      ++open->working;
      lock.unlock();
      (*open->work)();
      lock.lock();
      if (--open->working == 0) left_.notify_all();
      continue;
    }
    if (closing_) return;
    wake_.wait(lock);
  }
}

}  // namespace rondo
