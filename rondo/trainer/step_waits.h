// StepWaits: when a worker only waits within a step, and for whom.
//
// A wait is *exposed*: an exchange is under way and nothing computes. Exchanges
// end at the same time on all workers, as nobody has the result before the last
// has come to it. So the worker on which an exchange took the least time was
// the last: what it took longer elsewhere was waiting for that worker, and the
// rest is communication. No clock but a worker's own is needed to know.
#pragma once

#include <span>
#include <vector>

#include "rondo/runtime/timeline.h"

namespace rondo {

// Of one step.
struct StepWaits {
  // From `begin_us` to `end_us` after this exchange began here.
  struct Exposed {
    size_t exchange = 0;
    double begin_us = 0;
    double end_us = 0;
  };
  double step_us = 0;  // from the first event to the last
  // How long each exchange was under way, in the order of their names, which is
  // the same on all workers.
  std::vector<double> exchange_us = {};
  // Where several are under way, it is the one that began first.
  std::vector<Exposed> exposed = {};

  // Of the step, the share that is exposed: what exchanges add to it.
  double share() const;
};

StepWaits step_waits(const std::vector<Timeline::Event>& events);

// Shares of a worker's steps.
struct WaitShares {
  double communication = 0;
  std::vector<double> for_worker;  // by rank: waiting until it has come
  // For all of them.
  double for_others() const;
};

// `mine` are the waits of some steps; `all_us` has, for each of the `size`
// workers, the exchange_us of all these steps, one behind the other.
WaitShares divide_waits(std::span<const StepWaits> mine,
                        std::span<const double> all_us, int size);

}  // namespace rondo
