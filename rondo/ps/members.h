// Members: the workers of a parameter server, as it sees them.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/ps/kv_messages.h"

namespace rondo {

// A worker whose link has ended without a word is gone, and lost when it has
// not come back for `patience`. Thread-safe.
class Members {
 public:
  Members(int workers, Duration patience);

  // A worker has come, or come back, by this link; whether it had left. An
  // error when there is no such worker, or another process is it.
  Result<bool> come(uint64_t link, const kv::Hello& hello);
  void go(uint64_t link);
  void leave(int worker);
  void return_from_leave(int worker);

  // The worker that speaks on this link; -1: none, or not any more.
  int worker_of(uint64_t link) const;
  bool left(int worker) const;
  bool lost(int worker) const;
  // "worker 3 (node7, pid 81233)".
  std::string describe(int worker) const;

 private:
  struct Member {
    std::string name;
    uint64_t incarnation = 0;
    uint64_t link = 0;    // 0: none
    uint64_t newest = 0;  // of this process's links
    bool came = false;
    bool left = false;
    Clock::time_point gone;
  };
  const Duration patience_;
  mutable Mutex mutex_;
  std::vector<Member> members_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
