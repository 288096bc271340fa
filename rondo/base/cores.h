// How many cores a process may keep busy.
#pragma once

#include "rondo/base/env.h"

namespace rondo {

// Those that the system lets this process run on.
RONDO_API int available_cores();

// How many threads, of all programs, run or wait for a core right now; 0: the
// system does not say.
RONDO_API int threads_wanting_cores();

// This process's share of `available`: what RONDO_NUM_THREADS says, or as many
// as there are for each rank on this host, by the variables of whoever started
// the job; at least 1. A process that the launcher bound to some of the host's
// `all` cores has those for itself. An error when a variable is no number.
RONDO_API Result<int> share_of_cores(const Env& env, int available, int all);
// The same of this process, which takes all it may where a variable is no
// number.
RONDO_API int share_of_cores();

}  // namespace rondo
