// Copier: copies large tensors with the help of other threads.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "rondo/base/mutex.h"

namespace rondo {

// One thread does not use all of the memory's bandwidth. Any thread.
class Copier {
 public:
  // With so many threads of its own besides the caller's.
  explicit Copier(int helpers);
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  // How many, for a process that may keep so many cores busy.
  static int helpers_for(int cores);

  // memcpy. Others take a share as soon as they are awake; where they are not,
  // because the machine is busy, or help somebody else, the caller copies all
  // of it.
  void copy(void* to, const void* from, size_t bytes);

 private:
  struct Job;
  // Whether nobody else's is there.
  bool post(Job& job);
  // Nobody joins any more, and those who did have left.
  void end(Job& job);
  void help();

  Mutex mutex_;
  CondVar posted_;
  CondVar left_;
  Job* job_ RONDO_GUARDED_BY(mutex_) = nullptr;
  bool closing_ RONDO_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace rondo
