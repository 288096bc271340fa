// BusyTimes: when one thread of a device, or one link, is taken.
#pragma once

#include <algorithm>
#include <vector>

namespace rondo {

class BusyTimes {
 public:
  // From when on, but not before `ready`, it is free for so long.
  double earliest(double ready, double seconds) const {
    auto next = std::ranges::upper_bound(times_, ready, {}, &Time::end);
    for (; next != times_.end() && next->start - ready < seconds; ++next)
      ready = std::max(ready, next->end);
    return ready;
  }
  // A time that earliest() gave.
  void book(double start, double seconds) {
    if (seconds <= 0) return;
    const double end = start + seconds;
    auto next = std::ranges::upper_bound(times_, start, {}, &Time::start);
    // Joined to what ends where it begins, so that lists stay short.
    if (next != times_.begin() && std::prev(next)->end >= start) {
      std::prev(next)->end = std::max(std::prev(next)->end, end);
      return;
    }
    times_.insert(next, {start, end});
  }

 private:
  struct Time {
    double start;
    double end;
  };
  std::vector<Time> times_;  // in order, apart from each other
};

}  // namespace rondo
