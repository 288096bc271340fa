// The first assignment: items in order of priority, each group where the first
// of its items makes it finish first.
#pragma once

#include <vector>

#include "rondo/graph/placement/problem.h"

namespace rondo {

struct ListSchedule {
  Assignment assignment;
  // By group: when it would finish on each device, where that was weighed;
  // negative: not allowed.
  std::vector<std::vector<double>> finish;
};

// Items that take nothing (variables, feeds), and those that do less with what
// such items give than it takes to send anything, follow the first item that
// uses them: by themselves they would finish equally early anywhere.
ListSchedule list_schedule(const PlacementProblem& problem);

}  // namespace rondo
