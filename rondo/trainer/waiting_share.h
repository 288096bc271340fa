// waiting_share: how much of a step a worker only waits for the others.
#pragma once

#include <vector>

#include "rondo/runtime/timeline.h"

namespace rondo {

// Of the time from the first event to the last, the share in which an exchange
// is under way and nothing computes: what communication adds to the step.
double waiting_share(const std::vector<Timeline::Event>& events);

}  // namespace rondo
