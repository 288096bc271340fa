// StepProfile: how long a training step and each of its nodes took here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/planner/node_times.h"

namespace rondo {

struct ProfileOptions {
  int64_t batch = 32;  // for each extent that the graph leaves open
  int threads = 1;
  // "NAME=NUMBER": every element of that input. Those of others are 0.1, 0 for
  // integers, or true.
  std::vector<std::string> feeds = {};
  double seconds = 2;  // how long steps are timed, one at least
};

struct StepProfile {
  double seconds = 0;  // of a step
  NodeTimes nodes;
  std::string fed;  // "with x [32, 784] = 0.1, y [32] = 0"
};

// Whether profile_step could begin.
Status check_profile(const TrainingStep& step, const ProfileOptions& options);

// Sets the graph's variables to their initial values and trains for some steps.
// Placeholders are fed, and so is what would come from a data set or a queue.
// An error where the step cannot be run by itself.
Result<StepProfile> profile_step(const TrainingStep& step,
                                 const ProfileOptions& options);

}  // namespace rondo
