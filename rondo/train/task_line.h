// TaskLine: a thread that does tasks one after another, in the order in which
// they are given.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "rondo/base/mutex.h"

namespace rondo {

// Thread-safe. Tasks do not throw.
class TaskLine {
 public:
  TaskLine() : thread_([this] { run(); }) {}
  // Does what it was given before. Not from a task.
  ~TaskLine();
  TaskLine(const TaskLine&) = delete;
  TaskLine& operator=(const TaskLine&) = delete;

  void add(std::function<void()> task);
  // Waits until all is done. Not from a task.
  void drain();
  // Whether all is done.
  bool idle();

 private:
  void run();

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ RONDO_GUARDED_BY(mutex_);
  bool busy_ RONDO_GUARDED_BY(mutex_) = false;
  bool stopping_ RONDO_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace rondo
