#include "rondo/train/task_line.h"

#include <utility>

namespace rondo {

TaskLine::~TaskLine() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void TaskLine::add(std::function<void()> task) {
  const MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void TaskLine::drain() {
  const MutexLock lock(mutex_);
  while (busy_ || !tasks_.empty()) changed_.wait(mutex_);
}

bool TaskLine::idle() {
  const MutexLock lock(mutex_);
  return !busy_ && tasks_.empty();
}

void TaskLine::run() {
  for (;;) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      busy_ = false;
      if (tasks_.empty()) changed_.notify_all();
      while (tasks_.empty() && !stopping_) changed_.wait(mutex_);
      if (tasks_.empty()) return;
      busy_ = true;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace rondo
