// WorkerTimes: where a worker's time went.
#pragma once

#include "rondo/base/clock.h"

namespace rondo {

// The first step is not counted: it compiles.
class WorkerTimes {
 public:
  // Of one step: making its batch, and running it.
  void add(Duration input, Duration run) {
    if (skipped_) {
      ++steps_;
      input_ += to_seconds(input);
      run_ += to_seconds(run);
    }
    skipped_ = true;
  }
  // Of a step that was looked at closely: see waiting_share().
  void add_waiting(double share) {
    ++looked_;
    waiting_ += share;
  }

  int64_t steps() const { return steps_; }
  double seconds() const { return input_ + run_; }
  double input_share() const { return seconds() > 0 ? input_ / seconds() : 0; }
  // Of all the time.
  double waiting_share() const {
    if (looked_ == 0) return 0;
    return waiting_ / looked_ * (1 - input_share());
  }

 private:
  bool skipped_ = false;
  int64_t steps_ = 0;
  double input_ = 0;
  double run_ = 0;
  double waiting_ = 0;
  int looked_ = 0;
};

}  // namespace rondo
