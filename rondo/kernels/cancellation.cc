#include "rondo/kernels/cancellation.h"

namespace rondo {

void Cancellation::cancel(Status reason) {
  const std::lock_guard lock(mutex_);
  if (cancelled_) return;
  reason_ = std::move(reason);
  cancelled_ = true;
  // A wake may forget itself or others.
  while (!wakes_.empty()) {
    auto wake = std::move(wakes_.begin()->second);
    wakes_.erase(wakes_.begin());
    wake();
  }
}

Status Cancellation::reason() const {
  // Fixed once it is cancelled, and asked for by those whom a wake waits for.
  return cancelled() ? reason_ : Status();
}

int Cancellation::on_cancel(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  const int number = next_++;
  if (cancelled_)
    wake();
  else
    wakes_[number] = std::move(wake);
  return number;
}

void Cancellation::forget(int number) {
  const std::lock_guard lock(mutex_);
  wakes_.erase(number);
}

}  // namespace rondo
