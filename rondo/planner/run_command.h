// RunCommand: how training by a method is started.
#pragma once

#include <string>

#include "rondo/planner/planner.h"

namespace rondo {

// The command for the recommended method, with HOSTS, DATA or PROGRAM where the
// plan does not know them; empty for one worker.
std::string run_command(const PlanReport& report);

}  // namespace rondo
