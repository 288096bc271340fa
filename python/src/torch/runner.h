// Runner: runs the operations of a process group one after another, in the
// order in which they were given.
//
// An operation that its caller waits for anyway runs on the caller's thread
// when nothing is before it, which saves two changes of threads; all others run
// on the runner's own, which starts with the first of them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace rondo::torch {

class Runner {
 public:
  using Job = std::function<void()>;

  Runner() = default;
  // Runs what is left first.
  ~Runner();
  Runner(const Runner&) = delete;

  void start(Job job);
  // Returns when the job is done, or has been put behind others: it tells its
  // waiters itself.
  void run(Job job);
  // Whether something is under way.
  bool busy() const;

 private:
  void serve();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool running_ = false;  // a job, on whichever thread
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace rondo::torch
