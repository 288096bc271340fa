// ReplayJob: a step of a workload by a method, for ranks that replay it.
//
// What a rank does is known before it starts, so ranks need no graph: they read
// this from a file.
#pragma once

#include <string>
#include <vector>

#include "rondo/plan/step_simulator.h"

namespace rondo {

struct ReplayJob {
  Method method;
  double computation = 0;        // seconds of a worker of usual speed
  double seconds_per_flop = 0;   // of factors that others have sent
  std::vector<double> slowness;  // by worker: in units of the usual time
  std::vector<PlannedExchange> exchanges;  // in the order in which they leave
  int rounds = 0;  // of each measurement; 0: some, by the time that they take

  static ReplayJob make(const Method& method, const Network& network,
                        const Workload& workload,
                        const Stragglers& stragglers = {});
  std::string to_json() const;
  static Result<ReplayJob> from_json(const std::string& text);
};

// What the ranks have measured. The same on all of them.
struct ReplayTimes {
  double communication = 0;  // of all exchanges, when all are ready at once
  double step = 0;
  double worker_bytes = 0;  // that a worker sent in a step, through its network
  int rounds = 0;           // of whose later half `communication` is the median

  std::string to_json() const;
  static Result<ReplayTimes> from_json(const std::string& text);
};

}  // namespace rondo
