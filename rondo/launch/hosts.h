// Host lists: which hosts a job runs on, and which ranks each of them gets.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

// More ranks than anybody starts on purpose.
inline constexpr int kMaxRanks = 4096;

struct Host {
  std::string name;  // as ssh takes it: "a", "user@a", "10.0.0.1", "fd00::1"
  int slots = 1;     // how many ranks it takes
};

// "a:4,b:4": comma-separated hosts, each with a number of ranks (1 unless
// given). An IPv6 address with a number stands in brackets: "[fd00::1]:4".
Result<std::vector<Host>> parse_hosts(std::string_view text);

// The same, one host per line: "a:4", "a 4" or "a slots=4"; # starts a comment.
Result<std::vector<Host>> parse_hostfile(std::string_view text);
// That of a file; the error names it.
Result<std::vector<Host>> read_hostfile(const std::string& file);

// The consecutive ranks that one host runs.
struct HostRanks {
  std::string host;
  int first_rank = 0;
  int count = 0;
};

// Numbers the ranks host by host. `total` (0: every slot) limits how many there
// are; hosts that get none are left out. An error when there are too few slots.
Result<std::vector<HostRanks>> assign_ranks(const std::vector<Host>& hosts,
                                            int total);

// Ranks for the slots that are free: of each host those beyond the number that
// `used` has for it. At most `most` in all, numbered from `first_rank` on.
std::vector<HostRanks> free_slots(const std::vector<Host>& hosts,
                                  const std::map<std::string, int>& used,
                                  int first_rank, int most);

// "0-2, 5": sorted ranks for people to read.
std::string rank_list(const std::vector<int>& ranks);

}  // namespace rondo
