// Sweeps: the same training with other numbers of workers, other links and
// other numbers of servers. All by closed forms of exchanges, so that
// thousands of workers are quick.
#pragma once

#include <optional>

#include "rondo/plan/prediction.h"

namespace rondo {

// Curves of the methods that people compare, and of `best`.
Sweep sweep_workers(const Network& network, const Workload& workload,
                    const StepOptions& options, const Method& best);
Sweep sweep_rate(const Network& network, const Workload& workload,
                 const StepOptions& options, const Method& best);

// The least bytes a second of a link with which a step has this efficiency;
// none where latency or stragglers cost more than that with any link.
std::optional<double> rate_for(double efficiency, const Method& method,
                               const Network& network, const Workload& workload,
                               const StepOptions& options);

struct ServerChoice {
  int servers = 0;
  double step = 0;
};
// The fewest servers whose step is at most 1 % longer than with any number of
// them up to that of the workers; on spare machines, or beside the workers.
ServerChoice best_servers(const Network& network, const Workload& workload,
                          const StepOptions& options, bool beside);

}  // namespace rondo
