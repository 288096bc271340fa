#include "rondo/base/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace rondo {
namespace {

// What a file says of a limit: a number, or a word where there is none.
double at_most(double bytes, const std::string& file) {
  double limit = 0;
  if (std::ifstream(file) >> limit) return std::min(bytes, limit);
  return bytes;
}

// A limit of any of the groups /a/b, /a and / counts.
double at_most_along(double bytes, std::string_view root, std::string group,
                     std::string_view file) {
  for (;; group.resize(group.rfind('/'))) {
    bytes = at_most(bytes, fmt::format("{}{}{}", root, group, file));
    if (group.find('/') == std::string::npos) return bytes;
  }
}

}  // namespace

double memory_limit(const std::string& root) {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                 static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::string version2 = root + "/sys/fs/cgroup";
  const std::string version1 = version2 + "/memory";
  const std::string max = "/memory.max", limit = "/memory.limit_in_bytes";
  // A container sees its own group as the root of version 1, and not its name.
  bytes = at_most(bytes, version1 + limit);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // "0::/a/b" is version 2, and "4:memory:/a/b" version 1.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto kinds = line.substr(first + 1, second - first - 1);
    const auto group = line.substr(second + 1);
    if (kinds.empty())
      bytes = at_most_along(bytes, version2, group, max);
    else if (fmt::format(",{},", kinds).find(",memory,") != std::string::npos)
      bytes = at_most_along(bytes, version1, group, limit);
  }
  return bytes;
}

}  // namespace rondo
