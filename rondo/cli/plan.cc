// `rondo plan`: how efficient training would be, before anything is bought or
// started.
#include <cstdio>
#include <fstream>
#include <memory>

#include "rondo/base/env.h"
#include "rondo/cli/command.h"
#include "rondo/cli/measured_links.h"
#include "rondo/cli/plan_arguments.h"
#include "rondo/cli/plan_check.h"
#include "rondo/launch/outer_job.h"
#include "rondo/planner/planner.h"

namespace rondo {
namespace {

constexpr const char* kFooter =
    "rondo plan vgg16 --batch 32 --workers 4 --link 1gbit --step-time 0.55\n"
    "rondo plan --params 138.36M --workers 64 --hosts 8 --link 100gbit \\\n"
    "  --step-time 0.2 --price-per-hour 12 --examples 1.28M --page plan.html\n"
    "rondo plan run1/model.meta --workers 8 --link 10gbit --flops 10T\n"
    "rondo plan resnet50 --device a100 --workers 64 --gpus-per-host 8\n"
    "rondo plan vgg16 --measure --hosts a:4,b:4\n"
    "rondo run --hosts a:4,b:4 -- rondo plan vgg16 --measure\n"
    "\n"
    "Rates are like 100mbit or 1gbit, times like 50us or 0.55. The first "
    "three\n"
    "columns are closed forms, in which nothing hides; the others a "
    "simulation\n"
    "of buckets that leave while gradients are still computed. See planner.md.";

Status write(const std::string& option, const std::string& file,
             const std::string& text) {
  if (file.empty()) return {};
  std::ofstream out(file);
  out << text;
  out.flush();
  if (!out)
    return error(Code::kInvalidArgument,
                 "{} {}: cannot be written; check the folder and its rights",
                 option, file);
  return {};
}

// A worker on every slot, or as many as --workers says.
Status set_workers(const std::vector<Host>& hosts, PlanOptions& options) {
  if (hosts.empty()) return {};
  const auto most = static_cast<int>(options.workers.value_or(0));
  RONDO_ASSIGN_OR_RETURN(const auto ranks, assign_ranks(hosts, most));
  options.workers = ranks.back().first_rank + ranks.back().count;
  options.hosts = static_cast<int64_t>(ranks.size());
  options.on_hosts.clear();
  for (const HostRanks& host : ranks) options.on_hosts.push_back(host.count);
  return {};
}

// By a job of its own, on the hosts that are named or those of an allocation.
Status measure_hosts(const PlanArguments& args, std::vector<Host> hosts,
                     PlanOptions& options) {
  const Env env = Env::process();
  LaunchOptions launch;
  if (hosts.empty() && detect_outer_job(env) == OuterJob::kSlurmAllocation) {
    launch.use_srun = true;
    RONDO_ASSIGN_OR_RETURN(hosts, slurm_hosts(env));
    RONDO_RETURN_IF_ERROR(set_workers(hosts, options));
  }
  // Those that --workers needs, in order.
  if (!hosts.empty()) hosts.resize(static_cast<size_t>(options.hosts));
  if (hosts.size() < 2)
    return error(Code::kInvalidArgument,
                 "--measure needs workers on two hosts at least, by name: "
                 "--hosts a:4,b:4 or --hostfile FILE; or a job: rondo run "
                 "--hosts a:4,b:4 -- rondo plan MODEL --measure");
  launch.interface = args.interface;
  launch.ssh_command = CLI::detail::split_up(args.ssh_command);
  if (launch.ssh_command.empty())
    return error(Code::kInvalidArgument, "--ssh-command is empty");
  launch.remote_rondo = args.remote_rondo;
  RONDO_ASSIGN_OR_RETURN(options.measured, measure_host_links(hosts, launch));
  return {};
}

// Whether links are measured in a job that runs already.
bool in_job(const JobEnv& job, const std::vector<Host>& hosts) {
  return job.launcher != "none" && hosts.empty();
}

// Of a job that measures its links only the first rank plans: the others may
// have neither the model's file nor the folders of what is written.
Result<bool> plans_here(const PlanArguments& args,
                        const std::vector<Host>& hosts) {
  if (!args.measure) return true;
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(Env::process()));
  return !in_job(job, hosts) || job.rank == 0;
}

// False: another rank of this job goes on with what was measured.
Result<bool> measure(const PlanArguments& args, const std::vector<Host>& hosts,
                     PlanOptions& options) {
  if (!options.link.empty() || !options.latency.empty())
    return error(Code::kInvalidArgument,
                 "--measure finds out the rate of links and their latency; "
                 "leave --link and --latency out, or --measure");
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(Env::process()));
  if (!in_job(job, hosts)) {
    RONDO_RETURN_IF_ERROR(measure_hosts(args, hosts, options));
    return true;
  }
  RONDO_ASSIGN_OR_RETURN(const auto links, measure_job_links(job));
  if (!links) return false;
  options.measured = links->survey;
  if (options.workers || options.hosts > 0) return true;
  options.workers = job.size;
  if (options.gpus_per_host > 0) return true;
  options.hosts = static_cast<int64_t>(links->survey.hosts.size());
  options.on_hosts = links->on_hosts;
  return true;
}

// Whether it can be planned, and tried.
Status check_network(const PlanOptions& options) {
  RONDO_ASSIGN_OR_RETURN(const Network network, network_of(options));
  RONDO_RETURN_IF_ERROR(check_methods(options, network));
  return options.check ? can_check(network) : Status();
}

Status plan(PlanArguments& args) {
  PlanOptions& options = args.options;
  if (!options.replay.empty()) return replay_file(options.replay);
  RONDO_ASSIGN_OR_RETURN(const std::vector<Host> hosts, named_hosts(args));
  RONDO_RETURN_IF_ERROR(set_workers(hosts, options));
  // Before anything is computed or a job is started in vain. In a job, who is
  // where is known once its links were measured.
  RONDO_RETURN_IF_ERROR(predict_options_of(options).status());
  RONDO_ASSIGN_OR_RETURN(const bool plans, plans_here(args, hosts));
  if (plans) RONDO_RETURN_IF_ERROR(check_outputs(options));
  if (plans && args.measure) RONDO_RETURN_IF_ERROR(check_workload(options));
  if (!args.measure || options.workers)
    RONDO_RETURN_IF_ERROR(check_network(options));
  if (args.measure) {
    RONDO_ASSIGN_OR_RETURN(const bool here, measure(args, hosts, options));
    if (!here) return {};
    RONDO_RETURN_IF_ERROR(check_network(options));
  }
  RONDO_ASSIGN_OR_RETURN(PlanReport report, make_plan(options));
  RONDO_ASSIGN_OR_RETURN(const auto methods,
                         methods_to_check(report, options.check_methods));
  std::fputs(to_text(report).c_str(), stdout);
  if (options.check) {
    std::fflush(stdout);
    RONDO_ASSIGN_OR_RETURN(report.checked,
                           check_in_lab(report, methods, options.check_rounds));
    std::fputs(check_text(report).c_str(), stdout);
  } else if (!options.check_methods.empty()) {
    // For bench/plan, which has measured them before.
    RONDO_ASSIGN_OR_RETURN(report.checked, predict_lab(report, methods));
  }
  RONDO_RETURN_IF_ERROR(write("--json", options.json, to_json(report)));
  return write("--page", options.page, to_page(report));
}

}  // namespace

void add_plan_command(CLI::App& app, CommandLine& line) {
  auto args = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand(
      "plan", "Predict how efficient training on a network would be");
  command->footer(kFooter);
  add_plan_options(*command, *args);
  command->callback([args, &line] {
    line.action = [args] {
      const Status status = plan(*args);
      if (status.ok()) return 0;
      std::fprintf(stderr, "rondo plan: %s\n", status.message().c_str());
      return status.code() == Code::kInvalidArgument ? kUsageError : 1;
    };
  });
}

}  // namespace rondo
