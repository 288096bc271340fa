#include "rondo/collectives/waiter.h"

#include <algorithm>

#include "rondo/base/interrupt.h"

namespace rondo {
namespace {

// How often a waiting rank asks the others what they are doing: everybody asks
// everybody, so large groups ask less often.
Duration inspect_every(int ranks) { return seconds(1.0 + ranks / 64.0); }

}  // namespace

Duration Waiter::nap() const {
  return std::min<Duration>(std::chrono::milliseconds(100), timeout_ / 4);
}

Duration Waiter::stalled() const {
  return stalled_ ? Clock::now() - stalled_at_ : Duration::zero();
}

Status Waiter::unless_interrupted() {
  return Interrupt::raised() ? group_.interrupted(tag_) : Status();
}

Status Waiter::check(std::span<const int> waiting_on) {
  if (group_.failed()) return group_.failure();
  RONDO_RETURN_IF_ERROR(unless_interrupted());
  const auto now = Clock::now();
  if (!started_) {
    started_ = true;
    start_ = now;
  }
  if (!stalled_) {
    stalled_ = true;
    stalled_at_ = inspected_at_ = now;
    group_.wait_for(waiting_on);
    return {};
  }
  const auto waited = now - stalled_at_;
  const bool over = waited >= timeout_ ||
                    (total_ > Duration::zero() && now - start_ >= total_);
  // Asking takes a moment where somebody does not answer; not right before the
  // time-out, which asks again.
  if (!over && (now - inspected_at_ < inspect_every(group_.size()) ||
                timeout_ - waited < seconds(0.5)))
    return {};
  inspected_at_ = now;
  return group_.inspect(tag_, waiting_on, over, waited);
}

}  // namespace rondo
