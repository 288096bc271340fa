// KvWork: a push or pull that is under way.
#pragma once

#include <functional>
#include <memory>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/base/status.h"

namespace rondo {

// Copies are of the same work. Thread-safe.
class KvWork {
 public:
  using Done = std::function<void(const Status&)>;

  // Over already.
  explicit KvWork(Status status = {});
  // Over once `parts` of it are, at least one.
  KvWork(int parts, Done done);

  bool finished() const;
  // Its outcome, waiting for it; an error when the deadline passes first.
  Status wait(Deadline deadline) const;
  // One of its parts is over; the first failure counts. Calls `done` after the
  // last.
  void finish_part(const Status& status) const;

 private:
  struct State {
    Mutex mutex;
    CondVar over;
    int left RONDO_GUARDED_BY(mutex) = 0;
    Status status RONDO_GUARDED_BY(mutex);
    Done done RONDO_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_;
};

}  // namespace rondo
