// RunThreads: threads for steps that somebody started and does not wait for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {

// As many threads as there have been jobs at a time: a step may wait for
// another step, so none may wait for a thread. Any thread.
class RunThreads {
 public:
  RunThreads() = default;
  ~RunThreads();  // after all jobs have ended
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;

  void start(std::function<void()> job);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  // All guarded by mutex_.
  std::deque<std::function<void()>> jobs_;
  size_t idle_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rondo
