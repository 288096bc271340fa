// `rondo plan`: how efficient training would be, before anything is bought or
// started.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>

#include "rondo/base/env.h"
#include "rondo/cli/command.h"
#include "rondo/cli/measured_links.h"
#include "rondo/cli/plan_check.h"
#include "rondo/launch/outer_job.h"
#include "rondo/planner/planner.h"

namespace rondo {
namespace {

constexpr const char* kFooter =
    "rondo plan vgg16 --batch 32 --workers 4 --link 1gbit --step-time 0.55\n"
    "rondo plan --params 138.36M --workers 64 --hosts 8 --link 100gbit \\\n"
    "  --step-time 0.2 --price-per-hour 12 --page plan.html\n"
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

struct PlanArguments {
  PlanOptions options;
  std::string hosts;  // a number, or names as `rondo run` takes them
  std::string hostfile;
  bool measure = false;
  std::string interface;
  std::string ssh_command = "ssh";
  std::string remote_rondo;
};

// The hosts that are named; none where only their number is given, which is
// then in the options.
Result<std::vector<Host>> named_hosts(PlanArguments& args) {
  const std::string& text = args.hosts;
  const char* end = text.data() + text.size();
  const auto [rest, failed] =
      std::from_chars(text.data(), end, args.options.hosts);
  const bool number = !text.empty() && failed == std::errc() && rest == end;
  if (!text.empty() && !args.hostfile.empty())
    return error(Code::kInvalidArgument,
                 "--hosts and --hostfile both say where workers are; give one");
  if (!args.hostfile.empty()) return read_hostfile(args.hostfile);
  if (text.empty() || number) return std::vector<Host>{};
  args.options.hosts = 0;
  auto hosts = parse_hosts(text);
  if (!hosts.ok())
    return hosts.status().with_context(
        "--hosts takes a number, or hosts as rondo run does");
  return hosts;
}

// A worker on every slot, or as many as --workers says.
Status set_workers(const std::vector<Host>& hosts, PlanOptions& options) {
  const int64_t most = options.workers.value_or(0);
  // What is out of range is explained with the other numbers.
  if (hosts.empty() || most < 0 || most > kMaxRanks ||
      (options.workers && most == 0))
    return {};
  RONDO_ASSIGN_OR_RETURN(const auto ranks,
                         assign_ranks(hosts, static_cast<int>(most)));
  options.workers = ranks.back().first_rank + ranks.back().count;
  options.hosts = static_cast<int64_t>(ranks.size());
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
  if (hosts.size() < 2)
    return error(Code::kInvalidArgument,
                 "--measure needs two hosts at least, by name: --hosts a:4,b:4 "
                 "or --hostfile FILE; or a job: rondo run --hosts a:4,b:4 -- "
                 "rondo plan MODEL --measure");
  launch.interface = args.interface;
  launch.ssh_command = CLI::detail::split_up(args.ssh_command);
  if (launch.ssh_command.empty())
    return error(Code::kInvalidArgument, "--ssh-command is empty");
  launch.remote_rondo = args.remote_rondo;
  RONDO_ASSIGN_OR_RETURN(options.measured, measure_host_links(hosts, launch));
  return {};
}

// False: another rank of this job goes on with what was measured.
Result<bool> measure(const PlanArguments& args, const std::vector<Host>& hosts,
                     PlanOptions& options) {
  if (!options.link.empty() || !options.latency.empty())
    return error(Code::kInvalidArgument,
                 "--measure finds out the rate of links and their latency; "
                 "leave --link and --latency out, or --measure");
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(Env::process()));
  if (job.launcher == "none" || !hosts.empty()) {
    RONDO_RETURN_IF_ERROR(measure_hosts(args, hosts, options));
    return true;
  }
  RONDO_ASSIGN_OR_RETURN(options.measured, measure_job_links(job));
  if (!options.measured) return false;
  if (options.workers || options.hosts > 0) return true;
  options.workers = job.size;
  if (options.gpus_per_host == 0)
    options.hosts = static_cast<int64_t>(options.measured->hosts.size());
  return true;
}

Status plan(PlanArguments& args) {
  PlanOptions& options = args.options;
  if (!options.replay.empty()) return replay_file(options.replay);
  RONDO_ASSIGN_OR_RETURN(const std::vector<Host> hosts, named_hosts(args));
  RONDO_RETURN_IF_ERROR(set_workers(hosts, options));
  if (args.measure) {
    // Before a job is started in vain.
    RONDO_RETURN_IF_ERROR(network_of(options).status());
    RONDO_RETURN_IF_ERROR(predict_options_of(options).status());
    RONDO_ASSIGN_OR_RETURN(const bool here, measure(args, hosts, options));
    if (!here) return {};
  }
  RONDO_ASSIGN_OR_RETURN(PlanReport report, make_plan(options));
  std::fputs(to_text(report).c_str(), stdout);
  if (options.check) {
    std::fflush(stdout);
    RONDO_ASSIGN_OR_RETURN(report.checked,
                           check_in_lab(report, options.check_methods));
    std::fputs(check_text(report).c_str(), stdout);
  } else if (!options.check_methods.empty()) {
    // For bench/plan, which has measured them before.
    RONDO_ASSIGN_OR_RETURN(const auto methods,
                           methods_to_check(report, options.check_methods));
    RONDO_ASSIGN_OR_RETURN(report.checked, predict_lab(report, methods));
  }
  RONDO_RETURN_IF_ERROR(write("--json", options.json, to_json(report)));
  return write("--page", options.page, to_page(report));
}

void add_options(CLI::App& command, PlanArguments& args) {
  PlanOptions& options = args.options;
  const auto text = [&](const char* name, std::string& value, const char* help,
                        const char* type) {
    command.add_option(name, value, help)
        ->type_name(type)
        ->capture_default_str();
  };
  const auto number = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)
        ->type_name("N")
        ->capture_default_str();
  };
  text("model", options.model,
       "mlp, lenet, vgg16, resnet50, lstm, gpt, or a file with a graph",
       "MODEL|GRAPH");
  text("--params", options.params, "Instead of a model: how many parameters",
       "N");
  number("--batch", options.batch, "Examples of a worker in a step");
  text("--optimizer", options.optimizer, "sgd, momentum or adam", "NAME");
  number("-n,--workers", options.workers,
         "Workers; unless given 4, or those of the hosts");
  text("--hosts", args.hosts,
       "How many hosts they are on, or which: a number, or a:4,b:4; unless "
       "given, one for each",
       "HOSTS");
  text("--hostfile", args.hostfile, "The same, one host per line", "FILE");
  number("--gpus-per-host", options.gpus_per_host,
         "A worker on each GPU of a host, instead of a number of hosts");
  text("--link", options.link,
       "Rate of a host's link, each way; unless given 10gbit", "RATE");
  text("--latency", options.latency,
       "Of a message between hosts, one way; unless given 50us", "TIME");
  command.add_flag("--measure", args.measure,
                   "Find out both between these hosts, or those of this job");
  text("--interface", args.interface,
       "To measure by: names, networks, addresses, ^excluded", "SPEC");
  text("--ssh-command", args.ssh_command, "How to call ssh to measure",
       "COMMAND");
  text("--remote-rondo", args.remote_rondo, "Path of rondo on the other hosts",
       "PATH");
  number("--racks", options.racks, "Racks that the hosts are in");
  text("--uplink", options.uplink, "Rate of a rack's link to the others",
       "RATE");
  text("--step-time", options.step_time,
       "Of one worker alone: a time, measure (trains the model here), or "
       "estimate (from operations' costs)",
       "TIME");
  text("--device", options.device,
       "What a worker computes on, for the estimate: cpu, t4, v100, a10, a100, "
       "l4, l40s, h100, h200",
       "NAME");
  text("--precision", options.precision,
       "Of a device's products, for the estimate: fp32 or bf16", "NAME");
  number("--cores", options.cores,
         "Of a worker, for the estimate; 0: as many as there are here");
  text("--flops", options.flops,
       "Operations a second of a worker, instead of a device", "N");
  number("--straggler", options.straggler,
         "One worker takes so many times as long");
  number("--jitter", options.jitter,
         "Deviation of the workers' times, as a share of a step");
  number("--price-per-hour", options.price_per_hour, "Of a machine");
  text("--examples", options.examples, "Of an epoch, for its price", "N");
  command.add_flag("--check", options.check,
                   "Also try the recommended and two other methods in a lab "
                   "on this machine; needs root");
  text("--methods", options.check_methods,
       "With --check: these instead, such as 'ring; ps 2'", "NAMES");
  command.add_option("--replay", options.replay)->group("");
  text("--json", options.json, "Also write all of it to this file", "FILE");
  text("--page", options.page, "Also write a page with plots", "FILE");
}

}  // namespace

void add_plan_command(CLI::App& app, CommandLine& line) {
  auto args = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand(
      "plan", "Predict how efficient training on a network would be");
  command->footer(kFooter);
  add_options(*command, *args);
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
