// RunThreads: threads for steps, and other things that may wait, which somebody
// started and does not wait for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {

// As many threads as there have been jobs at a time: one may wait for another,
// so none may wait for a thread. Any thread.
class RunThreads {
 public:
  RunThreads() = default;
  ~RunThreads();  // waits for all jobs, which start no others then
  RunThreads(const RunThreads&) = delete;
  RunThreads& operator=(const RunThreads&) = delete;

  // `job` throws nothing.
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
