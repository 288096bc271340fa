#include "work.h"

#include <unistd.h>

#include "durations.h"
#include "errors.h"
#include "runner.h"
#include "signals.h"

namespace rondo::torch {

Work::Work(int rank, What what)
    : c10d::Work(rank, what.type, what.title,
                 what.title == nullptr ? std::nullopt
                                       : std::optional<std::vector<at::Tensor>>(
                                             std::move(what.inputs))),
      title_(what.title == nullptr ? "rondo" : what.title),
      outputs_(std::move(what.outputs)),
      sequence_(what.sequence),
      pid_(getpid()),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::ofTensors())) {}

void Work::end(const Status& status) {
  if (status.ok()) {
    finish();
    future_->markCompleted(c10::IValue(outputs_));
    return;
  }
  const std::exception_ptr exception = to_exception(status);
  finish(exception);
  future_->setError(exception);
}

bool Work::wait(std::chrono::milliseconds timeout) {
  using std::chrono::steady_clock;
  const auto deadline = timeout > kNoTimeout
                            ? steady_clock::now() + duration_of(timeout)
                            : steady_clock::time_point::max();
  if (!isCompleted()) {
    TORCH_CHECK_WITH(DistBackendError, pid_ == getpid(),
                     "rondo: this process was forked while the operation was "
                     "under way in pid ",
                     pid_, "; wait for it there");
    Runner::step_aside();
  }
  std::unique_lock lock(mutex_);
  const bool over =
      wait_or_throw(cv_, lock, deadline, [&] { return completed_; });
  // PyTorch's own text, with what it was.
  TORCH_CHECK_WITH(DistBackendError, over, title_,
                   ": Operation timed out! It was not over when wait() had "
                   "waited for ",
                   timeout.count(),
                   " ms; it goes on, until the group's own "
                   "timeout");
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() { return future_; }

}  // namespace rondo::torch
