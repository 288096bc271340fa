#include "rondo/runtime/work_clock.h"

#include <algorithm>
#include <utility>

namespace rondo {

WorkClock::WorkClock(const std::vector<Run>& runs,
                     std::span<const double> contention) {
  std::vector<std::pair<double, int>> changes;
  for (const Run& run : runs) {
    changes.emplace_back(run.start, 1);
    changes.emplace_back(run.end, -1);
  }
  // Of one time, ends come first.
  std::ranges::sort(changes);
  size_t running = 0;
  for (const auto& [time, change] : changes) {
    running = change > 0 ? running + 1 : running - 1;
    const double slower =
        running < 2 || contention.empty()
            ? 1
            : contention[std::min(running - 1, contention.size()) - 1];
    paces_.push_back({time, done(time), slower});
  }
}

double WorkClock::done(double time) const {
  const auto next = std::ranges::upper_bound(paces_, time, {}, &Pace::at);
  if (next == paces_.begin()) return time;
  const Pace& pace = *std::prev(next);
  return pace.done + (time - pace.at) / pace.slower;
}

}  // namespace rondo
