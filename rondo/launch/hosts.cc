#include "rondo/launch/hosts.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace rondo {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Result<int> parse_slots(std::string_view text, std::string_view entry) {
  int slots = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, slots);
  if (ec != std::errc() || rest != end || slots < 1 || slots > kMaxRanks)
    return error(Code::kInvalidArgument,
                 "host '{}': '{}' is not a number of ranks from 1 to {}", entry,
                 text, kMaxRanks);
  return slots;
}

// A name that ssh and srun take for a host and not for an option or a command.
Status check_name(std::string_view name, std::string_view entry) {
  if (name.empty())
    return error(Code::kInvalidArgument,
                 "host list: '{}' has no host name; write HOST or HOST:RANKS",
                 entry);
  const bool odd = std::any_of(name.begin(), name.end(), [](char c) {
    return c <= ' ' || c == 127 ||
           std::string_view("'\"`$;&|<>(){}\\*?!").find(c) !=
               std::string_view::npos;
  });
  if (name.front() == '-' || odd)
    return error(Code::kInvalidArgument, "'{}' is not a host name", name);
  return {};
}

Result<Host> parse_host(std::string_view entry) {
  Host host;
  std::string_view name = entry;
  std::string_view slots;
  bool counted = false;
  const size_t bracket = entry.find('[');
  if (bracket != std::string_view::npos) {
    const size_t close = entry.find(']', bracket);
    if (close == std::string_view::npos)
      return error(Code::kInvalidArgument, "host '{}': ']' is missing", entry);
    host.name = std::string(entry.substr(0, bracket));
    name = entry.substr(bracket + 1, close - bracket - 1);
    const std::string_view rest = entry.substr(close + 1);
    counted = !rest.empty();
    if (counted && rest.front() != ':')
      return error(Code::kInvalidArgument, "host '{}': expected ':' after ']'",
                   entry);
    if (counted) slots = rest.substr(1);
  } else if (std::count(entry.begin(), entry.end(), ':') == 1) {
    const size_t colon = entry.find(':');
    counted = true;
    name = entry.substr(0, colon);
    slots = entry.substr(colon + 1);
  }
  RONDO_RETURN_IF_ERROR(check_name(name, entry));
  host.name += name;
  RONDO_RETURN_IF_ERROR(check_name(host.name, entry));
  if (counted) {
    RONDO_ASSIGN_OR_RETURN(host.slots, parse_slots(slots, entry));
  }
  return host;
}

Status check_unique(const std::vector<Host>& hosts) {
  std::set<std::string_view> seen;
  for (const Host& host : hosts)
    if (!seen.insert(host.name).second)
      return error(Code::kInvalidArgument,
                   "host '{}' is given twice; give it once with the number of "
                   "its ranks, {}:RANKS",
                   host.name, host.name);
  if (hosts.empty())
    return error(Code::kInvalidArgument, "the host list is empty");
  return {};
}

}  // namespace

Result<std::vector<Host>> parse_hosts(std::string_view text) {
  std::vector<Host> hosts;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view entry = trim(text.substr(0, comma));
    RONDO_ASSIGN_OR_RETURN(Host host, parse_host(entry));
    hosts.push_back(std::move(host));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  RONDO_RETURN_IF_ERROR(check_unique(hosts));
  return hosts;
}

Result<std::vector<Host>> parse_hostfile(std::string_view text) {
  std::vector<Host> hosts;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t gap = line.find_first_of(" \t");
    RONDO_ASSIGN_OR_RETURN(Host host, parse_host(line.substr(0, gap)));
    if (gap != std::string_view::npos) {
      std::string_view slots = trim(line.substr(gap));
      if (slots.starts_with("slots=")) slots.remove_prefix(6);
      RONDO_ASSIGN_OR_RETURN(host.slots, parse_slots(slots, line));
    }
    hosts.push_back(std::move(host));
  }
  RONDO_RETURN_IF_ERROR(check_unique(hosts));
  return hosts;
}

Result<std::vector<Host>> read_hostfile(const std::string& file) {
  std::ifstream in(file);
  if (!in)
    return error(Code::kInvalidArgument, "--hostfile {}: {}", file,
                 std::strerror(errno));
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    return error(Code::kInvalidArgument,
                 "--hostfile {}: a folder; give a file with a host on each "
                 "line",
                 file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  auto hosts = parse_hostfile(text);
  if (!hosts.ok()) return hosts.status().with_context(file);
  return hosts;
}

Result<std::vector<HostRanks>> assign_ranks(const std::vector<Host>& hosts,
                                            int total) {
  int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  if (total == 0 && slots <= kMaxRanks) total = static_cast<int>(slots);
  if (total < 1 || total > kMaxRanks)
    return error(Code::kInvalidArgument, "a job has from 1 to {} ranks, not {}",
                 kMaxRanks, total == 0 ? slots : total);
  if (total > slots)
    return error(Code::kInvalidArgument,
                 "-n {}: the hosts take only {} ranks; give them more with "
                 "HOST:RANKS",
                 total, slots);
  std::vector<HostRanks> ranks;
  int next = 0;
  for (const Host& host : hosts) {
    const int count = std::min(host.slots, total - next);
    if (count > 0) ranks.push_back({host.name, next, count});
    next += count;
  }
  return ranks;
}

std::vector<HostRanks> free_slots(const std::vector<Host>& hosts,
                                  const std::map<std::string, int>& used,
                                  int first_rank, int most) {
  std::vector<HostRanks> ranks;
  for (const Host& host : hosts) {
    const auto found = used.find(host.name);
    const int taken = found == used.end() ? 0 : found->second;
    const int count = std::min(host.slots - taken, most);
    if (count <= 0) continue;
    ranks.push_back({host.name, first_rank, count});
    first_rank += count;
    most -= count;
  }
  return ranks;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[i]);
    if (end - i > 1)
      text += (end - i > 2 ? "-" : ", ") + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace rondo
