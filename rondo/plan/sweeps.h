// Sweeps: the same training with other numbers of workers, other links and
// other numbers of servers. By closed forms of exchanges, so that thousands of
// workers are quick, where nothing else is said.
#pragma once

#include <optional>
#include <span>

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

// The fewest servers whose step is at most 1 % longer than with others; on
// spare machines, or beside the workers. Of all numbers up to that of the
// workers, closed forms choose one; that is simulated as those are that were
// `predicted`, and the choice is between them.
Result<ServerChoice> best_servers(std::span<const MethodPrediction> predicted,
                                  const Network& network,
                                  const Workload& workload,
                                  const StepOptions& options, bool beside);

}  // namespace rondo
