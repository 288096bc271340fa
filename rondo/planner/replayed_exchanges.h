// ReplayedExchanges: the exchanges of a step as a strategy makes them, with
// tensors of the right sizes and no meaning.
#pragma once

#include <memory>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/env.h"
#include "rondo/collectives/communicator.h"
#include "rondo/planner/replay_job.h"

namespace rondo {

// Of one rank. One thread calls; all ranks call the same in the same order.
class ReplayedExchanges {
 public:
  virtual ~ReplayedExchanges() = default;
  // Begins exchange i, whose tensors are ready; may return before it is over.
  virtual Status begin(size_t i) = 0;
  // Waits for all that have begun: when each was over, in the order of their
  // beginnings.
  virtual Result<std::vector<Clock::time_point>> finish() = 0;
  // A small exchange, by which all connections are there.
  virtual Status warm_up() = 0;
};

// What a rank takes part in, connected to the others of its job and to its
// servers.
struct ReplayPlace {
  Communicator comm;
  std::unique_ptr<ReplayedExchanges> exchanges;

  static Result<ReplayPlace> connect(const Env& env, const ReplayJob& job);
};

}  // namespace rondo
