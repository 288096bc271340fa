// `rondo plan --check`: methods tried in a lab of this machine.
#pragma once

#include <string>
#include <vector>

#include "rondo/planner/planner.h"

namespace rondo {

// Whether a lab of this machine can be this network. Needs root.
Status can_check(const Network& network);

// Each method in a lab of its own, one after another; says on standard error
// what it is at. Measures so many rounds, or (0) as many as fit into some
// seconds. For networks that can_check() lets through.
Result<std::vector<CheckedMethod>> check_in_lab(const PlanReport& report,
                                                std::span<const Method> methods,
                                                int64_t rounds);

// What a rank of it does: replays the step that the file tells of. Rank 0
// prints what was measured.
Status replay_file(const std::string& file);

}  // namespace rondo
