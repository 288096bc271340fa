// What a run of a session takes besides fetches and targets.
#pragma once

#include "rondo/base/clock.h"
#include "rondo/graph/graph.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

struct RunOptions {
  Duration timeout = Duration::max();
  Timeline* timeline = nullptr;          // filled, where there is one
  Cancellation* cancellation = nullptr;  // ends the run from outside

  Deadline deadline() const {
    return timeout == Duration::max() ? Deadline::never() : Deadline(timeout);
  }
};

struct Feed {
  Value value;
  Tensor tensor;
};

}  // namespace rondo
