#include "rondo/kernels/cancellation.h"

namespace rondo {

void Cancellation::cancel(Status reason) {
  std::unique_lock lock(mutex_);
  if (cancelled_) return;
  reason_ = std::move(reason);
  cancelled_ = true;
  running_on_ = std::this_thread::get_id();
  // A wake may forget itself or others, or end a wait in another run whose
  // cancellation is waking this one's.
  while (!wakes_.empty()) {
    auto first = wakes_.extract(wakes_.begin());
    running_ = first.key();
    lock.unlock();
    first.mapped()();
    first.mapped() = nullptr;
    lock.lock();
    running_ = -1;
    woken_.notify_all();
  }
}

Status Cancellation::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

int Cancellation::on_cancel(std::function<void()> wake) {
  std::unique_lock lock(mutex_);
  const int number = next_++;
  if (!cancelled_) {
    wakes_[number] = std::move(wake);
    return number;
  }
  lock.unlock();
  wake();
  return number;
}

void Cancellation::forget(int number) {
  std::unique_lock lock(mutex_);
  wakes_.erase(number);
  if (running_on_ == std::this_thread::get_id()) return;
  woken_.wait(lock, [&] { return running_ != number; });
}

void Cancellation::drop(int number) {
  // What the function owns may take locks as it goes.
  std::map<int, std::function<void()>>::node_type dropped;
  const std::lock_guard lock(mutex_);
  dropped = wakes_.extract(number);
}

}  // namespace rondo
