// The processes that stem from this one, wherever they went.
#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

namespace rondo {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
};

// Makes orphans of this process's descendants its own children (and not
// init's), so that list_descendants() finds daemons and whoever called setsid.
void adopt_orphans();

// Every living descendant of this process, without the subtrees of `except`, or
// those of another one, `of`.
// Zombies do not count. A process that forks meanwhile may be missed: whoever
// wants all of them gone asks again until there are none.
std::vector<Process> list_descendants(const std::set<pid_t>& except = {},
                                      pid_t of = 0);

}  // namespace rondo
