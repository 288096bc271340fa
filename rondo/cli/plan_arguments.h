// PlanArguments: the command line of `rondo plan`.
#pragma once

#include <string>
#include <vector>

#include "rondo/cli/command.h"
#include "rondo/launch/hosts.h"
#include "rondo/planner/plan_options.h"

namespace rondo {

struct PlanArguments {
  PlanOptions options;
  std::string hosts;  // a number, or names as `rondo run` takes them
  std::string hostfile;
  bool measure = false;
  std::string interface;
  std::string ssh_command = "ssh";
  std::string remote_rondo;
};

// Numbers that are out of range and texts that are empty end the parsing, with
// the option's name.
void add_plan_options(CLI::App& command, PlanArguments& args);

// The hosts that are named; none where only their number is given, which is
// then in the options.
Result<std::vector<Host>> named_hosts(PlanArguments& args);

// What --json, --page and --methods ask for, before anything is computed in
// vain.
Status check_outputs(const PlanOptions& options);
Status check_methods(const PlanOptions& options, const Network& network);

}  // namespace rondo
