#include "rondo/base/clock.h"

#include <algorithm>

#include "rondo/base/interrupt.h"

namespace rondo {

Duration seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

double to_seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

Deadline::Deadline(Duration from_now) {
  const auto now = Clock::now();
  at_ = from_now > Clock::time_point::max() - now ? Clock::time_point::max()
                                                  : now + from_now;
}

bool Deadline::passed() const {
  return at_ <= Clock::now() || Interrupt::raised();
}

Duration Deadline::left() const {
  if (at_ == Clock::time_point::max()) return Duration::max();
  return std::max(Duration::zero(),
                  std::chrono::duration_cast<Duration>(at_ - Clock::now()));
}

int Deadline::poll_ms(int cap_ms) const {
  const Duration d = left();
  if (d >= std::chrono::milliseconds(cap_ms)) return cap_ms;
  return static_cast<int>((d.count() + 999'999) / 1'000'000);
}

}  // namespace rondo
