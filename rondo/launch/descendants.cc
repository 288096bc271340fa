#include "rondo/launch/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "rondo/transport/socket.h"

namespace rondo {
namespace {

// /proc/PID/stat: pid (name) state ppid pgrp ... The name may hold anything, so
// the fields are counted from the last parenthesis.
bool read_process(const char* pid_text, Process* process) {
  const std::string path = std::string("/proc/") + pid_text + "/stat";
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t length = fd.valid() ? read(fd.get(), text, sizeof text - 1) : 0;
  if (length <= 0) return false;
  text[length] = '\0';
  const char* close = std::strrchr(text, ')');
  char state = 'X';
  process->pid = std::atoi(pid_text);
  return close != nullptr &&
         std::sscanf(close + 1, " %c %d %d", &state, &process->parent,
                     &process->group) == 3 &&
         state != 'Z' && state != 'X';
}

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<Process> list_descendants(const std::set<pid_t>& except, pid_t of) {
  std::multimap<pid_t, Process> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return {};
  while (const dirent* entry = readdir(proc.get())) {
    Process process;
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
        read_process(entry->d_name, &process))
      children.emplace(process.parent, process);
  }
  std::vector<Process> found;
  std::vector<pid_t> open_ends = {of > 0 ? of : getpid()};
  while (!open_ends.empty()) {
    const pid_t parent = open_ends.back();
    open_ends.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      if (except.contains(it->second.pid)) continue;
      found.push_back(it->second);
      open_ends.push_back(it->second.pid);
    }
  }
  return found;
}

}  // namespace rondo
