#include "rondo/base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace rondo {
namespace {

// What a file says of a limit: a number, or a word where there is none.
double at_most(double bytes, const std::string& file) {
  double limit = 0;
  if (std::ifstream(file) >> limit) return std::min(bytes, limit);
  return bytes;
}

}  // namespace

double memory_limit(const std::string& root) {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                 static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::string groups = root + "/sys/fs/cgroup";
  // Of version 1, as a container sees its own.
  bytes = at_most(bytes, groups + "/memory/memory.limit_in_bytes");
  // Of version 2, "0::/a/b": a limit of any of these counts.
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      bytes = at_most(bytes, groups + group + "/memory.max");
      if (group.find('/') == std::string::npos) break;
    }
  }
  return bytes;
}

}  // namespace rondo
