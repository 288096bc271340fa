// StepLooks: where the time of a worker's steps went, by a look at some.
#pragma once

#include <vector>

#include "rondo/trainer/crew.h"
#include "rondo/trainer/step_waits.h"

namespace rondo {

// All workers look at the same steps. One thread.
class StepLooks {
 public:
  // A timeline costs a little; one step in so many has one.
  static constexpr int64_t kEvery = 16;
  // Whether to look at a step, of which so many were made before.
  static bool due(int64_t before) { return before % kEvery == 1; }

  // Whether there was a step to look at.
  bool any() const { return !looks_.empty(); }
  // The share of the step in which the worker only waited.
  double add(const std::vector<Timeline::Event>& events);
  // For whom it waited. Where workers are not in step, nobody knows: all of it
  // is communication. All workers call it.
  Result<WaitShares> divided(Crew& crew, bool in_step) const;

 private:
  static constexpr size_t kMost = 256;  // that are kept: the last
  std::vector<StepWaits> looks_;
  size_t next_ = 0;
};

}  // namespace rondo
