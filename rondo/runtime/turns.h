// Turns: what one thread at a time does, while others wait within their limits.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/base/status.h"
#include "rondo/kernels/cancellation.h"

namespace rondo {

class Turns {
 public:
  // Until it goes, nobody else has one.
  class Turn {
   public:
    explicit Turn(Turns& of) : of_(&of) {}
    Turn(Turn&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (of_) of_->end();
    }

   private:
    Turns* of_;
  };

  // The turn, if nobody has it.
  std::optional<Turn> try_take() {
    const MutexLock lock(mutex_);
    if (std::exchange(taken_, true)) return std::nullopt;
    return std::optional<Turn>(std::in_place, *this);
  }
  // Waits for it; `what` is what others do meanwhile, for people.
  Result<Turn> take(Deadline deadline, Cancellation& cancellation,
                    std::string_view what) {
    const int wake = cancellation.on_cancel([this] {
      const MutexLock lock(mutex_);
      free_.notify_all();
    });
    const Status status = wait(deadline, cancellation, what);
    cancellation.forget(wake);
    if (!status.ok()) return status;
    return Turn(*this);
  }

 private:
  Status wait(Deadline deadline, const Cancellation& cancellation,
              std::string_view what) {
    const MutexLock lock(mutex_);
    while (taken_) {
      if (cancellation.cancelled()) return cancellation.reason();
      if (deadline.passed())
        return error(Code::kTimeout, "the time was over while {}", what);
      free_.wait_for(mutex_, std::min<Duration>(deadline.left(), kLongWait));
    }
    taken_ = true;
    return {};
  }
  void end() {
    const MutexLock lock(mutex_);
    taken_ = false;
    free_.notify_all();
  }

  // As long as a clock can add.
  static constexpr Duration kLongWait = std::chrono::hours(1);
  Mutex mutex_;
  CondVar free_;
  bool taken_ RONDO_GUARDED_BY(mutex_) = false;
};

}  // namespace rondo
