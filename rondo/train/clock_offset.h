// clock_offset: what a rank's clock differs from rank 0's by.
#pragma once

#include <functional>

#include "rondo/base/clock.h"
#include "rondo/collectives/communicator.h"

namespace rondo {

// To be added to this rank's Clock to have rank 0's time. Each rank asks rank 0
// for the time again and again, and takes the answer that came back soonest:
// it is wrong by half of that time at most. All ranks call it.
RONDO_API Result<Duration> clock_offset(
    Communicator& comm,
    const std::function<Clock::time_point()>& clock = Clock::now);

}  // namespace rondo
