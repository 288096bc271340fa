#include "rondo/cli/growth_arguments.h"

#include <algorithm>
#include <cstdio>

namespace rondo {
namespace {

constexpr double kMostSeconds = 86400;

}  // namespace

void GrowthArguments::add_to(CLI::App& command) {
  command
      .add_option("--min-ranks,--min-np", min_ranks,
                  "Go on while so many are left, for elastic programs")
      ->type_name("N");
  max_option =
      command
          .add_option("--max-ranks,--max-np", max_ranks,
                      "Add ranks while fewer run, for elastic programs")
          ->type_name("N");
  script_option =
      command
          .add_option("--host-discovery-script", script,
                      "Prints the hosts to run on, as a hostfile has them; "
                      "asked every second, so that ranks can be added")
          ->type_name("COMMAND");
  limit_option =
      command
          .add_option("--host-discovery-timeout", script_limit,
                      "End a discovery script that takes longer, and go on "
                      "with the hosts that it named before")
          ->type_name("SECONDS")
          ->capture_default_str();
}

Status GrowthArguments::check(int ranks,
                              const std::string& hosts_option) const {
  if (script_option->count() > 0 && discovery().command.empty())
    return error(Code::kInvalidArgument,
                 "--host-discovery-script is empty: name a program that prints "
                 "HOST:SLOTS lines, or leave it out");
  if (!grows() && max_option->count() > 0)
    return error(Code::kInvalidArgument,
                 "--max-ranks {}: where are ranks to be added? Give "
                 "--host-discovery-script",
                 max_ranks);
  if (!grows() && limit_option->count() > 0)
    return error(Code::kInvalidArgument,
                 "--host-discovery-timeout {}: there is nothing to wait for; "
                 "give --host-discovery-script, or leave it out",
                 script_limit);
  if (!grows()) return {};
  if (!(script_limit > 0 && script_limit <= kMostSeconds))
    return error(Code::kInvalidArgument,
                 "--host-discovery-timeout {}: expected seconds, above 0 and "
                 "up to {}",
                 script_limit, kMostSeconds);
  if (!hosts_option.empty())
    return error(Code::kInvalidArgument,
                 "--host-discovery-script says where to run; leave {} out",
                 hosts_option);
  const int least = std::max({1, ranks, min_ranks});
  if (max_ranks < least || max_ranks > kMaxRanks)
    return error(Code::kInvalidArgument,
                 "--max-ranks {}: expected from {} to {}", max_ranks, least,
                 kMaxRanks);
  return {};
}

HostDiscoveryOptions GrowthArguments::discovery() const {
  HostDiscoveryOptions options;
  options.command = CLI::detail::split_up(script);
  options.limit = seconds(script_limit);
  return options;
}

Result<std::vector<Host>> GrowthArguments::first_hosts() const {
  auto hosts = HostDiscovery::ask(discovery(), [](const std::string& slow) {
    std::fprintf(stderr, "rondo: --host-discovery-script: %s\n", slow.c_str());
  });
  if (!hosts.ok())
    return hosts.status().with_context("--host-discovery-script");
  return hosts;
}

int GrowthArguments::first_ranks(const std::vector<Host>& hosts) const {
  int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  return static_cast<int>(std::min<int64_t>(slots, max_ranks));
}

}  // namespace rondo
