// GrowthArguments: what `rondo run` is told about a job whose ranks come and
// go.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "rondo/launch/host_discovery.h"
#include "rondo/launch/hosts.h"

namespace rondo {

struct GrowthArguments {
  int min_ranks = 0;
  int max_ranks = kMaxRanks;
  std::string script;  // empty: the job does not grow
  double script_limit = 60;
  CLI::Option* max_option = nullptr;
  CLI::Option* script_option = nullptr;
  CLI::Option* limit_option = nullptr;

  // Lives for as long as the command.
  void add_to(CLI::App& command);
  // Whether they go together, and with the number of ranks that the job is to
  // begin with (0: not said) and the option that names hosts ("": none does).
  Status check(int ranks, const std::string& hosts_option) const;

  bool grows() const { return !script.empty(); }
  HostDiscoveryOptions discovery() const;
  // The hosts that the script names first; waits for it.
  Result<std::vector<Host>> first_hosts() const;
  // How many ranks a job on these hosts begins with, of which no number was
  // said.
  int first_ranks(const std::vector<Host>& hosts) const;
};

}  // namespace rondo
