// Runner: runs the operations of a process group one after another, in the
// order in which they were given.
//
// An operation that its caller waits for anyway can run on the caller's thread
// when nothing is before it, which saves two changes of threads; all others run
// on a thread of the runner's, which starts with the first of them.
//
// A job ends with callbacks of the program's. One that starts another job, or
// waits for one, is no longer in anybody's way: the job is taken for over, and
// another thread goes on with the rest.
//
// Any thread may call. Its threads share it: a callback may let it go.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::torch {

class Runner : public std::enable_shared_from_this<Runner> {
 public:
  using Job = std::function<void()>;

  // False after close(): the job is not taken.
  bool start(Job job);
  // Runs the job before it returns. False: not done, since others are before it
  // or close() was called; start() knows which.
  bool run_now(const Job& job);

  // Takes no more jobs from now on. True: some are under way.
  bool close();
  // After close(): returns when all jobs are over, but for the one whose
  // callback calls it, and ends the threads.
  void finish();

  // Said before this thread waits for a job: if it is in a callback, the job of
  // that callback is taken for over.
  static void step_aside();

 private:
  using Lock = std::unique_lock<std::mutex>;
  // A job on this thread.
  struct Within;
  static thread_local Within* innermost_;

  // Each with the lock held.
  void put_behind(Job job);
  void execute(const Job& job, bool pooled, Lock& lock);
  void step_aside(Within& within);
  void add_thread();
  Within* within();

  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool running_ = false;  // a job, on whichever thread
  bool closed_ = false;
  int serving_ = 0;  // threads that are not kept by a callback
  std::vector<std::thread> threads_;
};

}  // namespace rondo::torch
