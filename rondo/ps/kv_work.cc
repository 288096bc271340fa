#include "rondo/ps/kv_work.h"

#include <algorithm>

namespace rondo {

KvWork::KvWork(Status status) : state_(std::make_shared<State>()) {
  const MutexLock lock(state_->mutex);
  state_->status = std::move(status);
}

KvWork::KvWork(int parts, Done done) : state_(std::make_shared<State>()) {
  const MutexLock lock(state_->mutex);
  state_->left = parts;
  state_->done = std::move(done);
}

bool KvWork::finished() const {
  const MutexLock lock(state_->mutex);
  return state_->left == 0;
}

Status KvWork::wait(Deadline deadline) const {
  const MutexLock lock(state_->mutex);
  while (state_->left > 0) {
    if (deadline.passed())
      return error(Code::kTimeout, "the parameter servers did not answer yet");
    // An interrupt makes the deadline pass, and nobody wakes this up for it.
    state_->over.wait_for(state_->mutex,
                          std::min<Duration>(deadline.left(), seconds(0.1)));
  }
  return state_->status;
}

void KvWork::finish_part(const Status& status) const {
  Done done;
  Status outcome;
  {
    const MutexLock lock(state_->mutex);
    if (state_->status.ok()) state_->status = status;
    if (--state_->left > 0) return;
    done = std::move(state_->done);
    outcome = state_->status;
    state_->over.notify_all();
  }
  if (done) done(outcome);
}

}  // namespace rondo
