// The agent: starts and ends a job's ranks on one host, for the launcher.
#pragma once

#include "rondo/base/status.h"

namespace rondo {

// Serves the launcher over `in` and `out` (see frame.h) until its ranks and all
// their descendants are gone. When `in` ends, because the launcher or the
// connection is gone, the ranks are ended. To be called by a process that has
// no other children. Returns the exit code.
Result<int> run_agent(int in, int out);

}  // namespace rondo
