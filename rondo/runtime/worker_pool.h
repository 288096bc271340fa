// WorkerPool: threads that join a caller in working on a run.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {

// Any number of callers may run at once; they share the threads.
class WorkerPool {
 public:
  // Each thread calls `at_start` once.
  WorkerPool(int threads, const std::function<void()>& at_start);
  ~WorkerPool();
  // Calls `work` on this thread and on every thread of the pool that is free
  // meanwhile, and returns when all these calls have.
  void run(const std::function<void()>& work);
  size_t threads() const { return threads_.size(); }

 private:
  struct Job {
    const std::function<void()>* work;
    int joins_left;  // threads that may still join
    int working = 0;
  };
  void loop(const std::function<void()>& at_start);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable left_;
  // All guarded by mutex_.
  std::vector<Job*> jobs_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rondo
