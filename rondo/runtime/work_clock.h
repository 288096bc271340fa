// WorkClock: how much work was done in a while in which nodes slowed each
// other.
#pragma once

#include <span>
#include <vector>

namespace rondo {

class WorkClock {
 public:
  struct Run {
    double start = 0;
    double end = 0;
  };
  // `runs` are those of all nodes, and `contention` is as PlacementRequest has
  // it.
  WorkClock(const std::vector<Run>& runs, std::span<const double> contention);

  // How long a node that ran then would have taken alone.
  double alone(const Run& run) const { return done(run.end) - done(run.start); }

 private:
  // From `at` until the next one, work takes so many times as long.
  struct Pace {
    double at;
    double done;  // until then
    double slower;
  };
  double done(double time) const;

  std::vector<Pace> paces_;
};

}  // namespace rondo
