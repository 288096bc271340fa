#include "work.h"

#include "errors.h"
#include "signals.h"

namespace rondo::torch {

Work::Work(int rank, What what)
    : c10d::Work(rank, what.type, what.title,
                 what.title == nullptr ? std::nullopt
                                       : std::optional<std::vector<at::Tensor>>(
                                             std::move(what.inputs))),
      outputs_(std::move(what.outputs)),
      sequence_(what.sequence),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()))) {}

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
  using namespace std::chrono_literals;
  const auto start = std::chrono::steady_clock::now();
  const bool bounded = timeout > kNoTimeout;
  std::unique_lock lock(mutex_);
  while (!completed_) {
    const auto waited = std::chrono::steady_clock::now() - start;
    TORCH_CHECK(!bounded || waited < timeout, "Operation timed out!");
    auto slice = std::chrono::nanoseconds(100ms);
    if (bounded)
      slice = std::min<std::chrono::nanoseconds>(slice, timeout - waited);
    if (cv_.wait_for(lock, slice, [&] { return completed_; })) break;
    lock.unlock();
    throw_if_signalled();
    lock.lock();
  }
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() { return future_; }

}  // namespace rondo::torch
