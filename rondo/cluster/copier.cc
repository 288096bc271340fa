#include "rondo/cluster/copier.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace rondo {
namespace {

// From here on, waking another thread takes a small part of the time.
constexpr size_t kLeastShared = 2 << 20;
// What a thread takes at a time: little enough that nobody waits long for the
// last one.
constexpr size_t kPiece = 256 << 10;
// More do not make memory faster.
constexpr int kMostHelpers = 3;
// A few times what a piece takes. Whoever sleeps for the last piece may wait
// much longer for a core, where others want it too.
constexpr Duration kMostSpinning = std::chrono::microseconds(100);

}  // namespace

struct Copier::Job {
  char* const to;
  const char* const from;
  const size_t bytes;
  int joins_left;
  std::atomic<size_t> next = 0;  // the first byte that nobody has taken
  std::atomic<int> helpers = 0;  // that have joined and not left

  void work() {
    for (;;) {
      const size_t at = next.fetch_add(kPiece, std::memory_order_relaxed);
      if (at >= bytes) return;
      std::memcpy(to + at, from + at, std::min(kPiece, bytes - at));
    }
  }
};

int Copier::helpers_for(int cores) {
  return std::clamp(cores - 1, 0, kMostHelpers);
}

Copier::Copier(int helpers) {
  for (int i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
}

Copier::~Copier() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    posted_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Copier::copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;  // they may be null, as those of empty tensors
  Job job{static_cast<char*>(to), static_cast<const char*>(from), bytes,
          static_cast<int>(threads_.size())};
  if (bytes < kLeastShared || threads_.empty() || !post(job)) {
    std::memcpy(to, from, bytes);
    return;
  }
  job.work();
  end(job);
}

bool Copier::post(Job& job) {
  const MutexLock lock(mutex_);
  if (job_ != nullptr) return false;
  job_ = &job;
  posted_.notify_all();
  return true;
}

void Copier::end(Job& job) {
  {
    const MutexLock lock(mutex_);
    job_ = nullptr;
  }
  const Deadline spinning(kMostSpinning);
  while (job.helpers.load(std::memory_order_acquire) > 0 &&
         spinning.left() > Duration::zero()) {
  }
  if (job.helpers.load(std::memory_order_acquire) == 0) return;
  const MutexLock lock(mutex_);
  while (job.helpers.load(std::memory_order_acquire) > 0) left_.wait(mutex_);
}

void Copier::help() {
  for (;;) {
    Job* job = nullptr;
    {
      const MutexLock lock(mutex_);
      while (!closing_ && (job_ == nullptr || job_->joins_left == 0))
        posted_.wait(mutex_);
      if (closing_) return;
      job = job_;
      --job->joins_left;
      ++job->helpers;
    }
    job->work();
    // It is gone as soon as its caller knows.
    --job->helpers;
    const MutexLock lock(mutex_);
    left_.notify_all();
  }
}

}  // namespace rondo
