// `rondo run`: start a program as the ranks of a job.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "rondo/base/env.h"
#include "rondo/cli/command.h"
#include "rondo/cli/growth_arguments.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/launcher.h"
#include "rondo/launch/outer_job.h"
#include "rondo/launch/process.h"
#include "rondo/train/strategy_name.h"

namespace rondo {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  rondo run -n 4 -- ./train --steps 100\n"
    "  rondo run -n 4 --servers 2 --strategy ps-async -- python3 train.py\n"
    "  rondo run --hosts a:4,b:4 --env OMP_NUM_THREADS=2 -- python3 train.py\n"
    "  rondo run --min-ranks 2 --max-ranks 8 --host-discovery-script "
    "./hosts.sh "
    "\\\n    -- python3 elastic.py\n"
    "\n"
    "Every rank finds RONDO_RANK, RONDO_WORLD_SIZE, RONDO_LOCAL_RANK,\n"
    "RONDO_LOCAL_SIZE, RONDO_STORE and RONDO_TOKEN in its environment, and\n"
    "/dev/null as its standard input. The host 'localhost' is this one; all\n"
    "others are reached by ssh without a password, with rondo at the same "
    "path.\n"
    "In a Slurm allocation the nodes are reached by srun; under mpirun or "
    "srun,\n"
    "without -n and --hosts, the program takes the rank that it was given.\n"
    "\n"
    "The exit code is that of the first rank that failed (128 + signal), 124\n"
    "after --timeout, 255 when a host cannot be reached.";

// CLI11 does not know of the program behind "--".
class RunFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: rondo run [-n N] [OPTIONS] -- PROGRAM ARGS...\n";
  }
};

struct RunArguments {
  int ranks = 0;
  std::string hosts;
  std::string hostfile;
  std::vector<std::string> environment;
  std::string directory;
  std::string interface;
  std::string port_range;
  std::string strategy;
  int servers = 0;
  int restart_servers = 0;
  std::string server_log;
  int staleness = -1;
  int backup = 0;
  double timeout = 0;
  double grace = 5;
  GrowthArguments growth;
  bool no_prefix = false;
  std::string ssh_command = "ssh";
  std::string remote_rondo;
  std::vector<std::string> stray;  // a program without "--"
  CLI::Option* ranks_option = nullptr;
  CLI::Option* backup_option = nullptr;
};

Result<std::vector<Host>> chosen_hosts(const RunArguments& args, const Env& env,
                                       bool* slurm) {
  if (args.growth.grows()) return args.growth.first_hosts();
  if (!args.hosts.empty()) return parse_hosts(args.hosts);
  if (!args.hostfile.empty()) return read_hostfile(args.hostfile);
  *slurm = detect_outer_job(env) == OuterJob::kSlurmAllocation;
  if (*slurm) return slurm_hosts(env);
  if (args.ranks_option->count() == 0)
    return error(Code::kInvalidArgument,
                 "say how many ranks to start: rondo run -n 4 -- PROGRAM");
  return std::vector<Host>{{"localhost", args.ranks}};
}

// NAME=VALUE as it is; NAME alone with its value here.
Status add_variable(const std::string& text, const Env& env,
                    std::map<std::string, std::string>* variables) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (name.empty())
    return error(Code::kInvalidArgument, "--env '{}': expected NAME=VALUE",
                 text);
  if (equals != std::string::npos) {
    (*variables)[name] = text.substr(equals + 1);
    return {};
  }
  const auto value = env.get(name);
  if (!value)
    return error(Code::kInvalidArgument,
                 "--env {}: not set here; give its value with {}=VALUE", name,
                 name);
  (*variables)[name] = *value;
  return {};
}

// Servers are of use to some strategies, which cannot do without.
Status check_servers(const RunArguments& args, const Env& env) {
  constexpr int kMostServers = 256;
  const bool inherited = args.strategy.empty();
  const std::string strategy =
      inherited ? env.get_or("RONDO_STRATEGY", "") : args.strategy;
  bool wanted = false;
  bool needed = false;
  if (!strategy.empty()) {
    const auto kind = parse_strategy(strategy);
    if (!kind.ok())
      return kind.status().with_context(inherited ? "RONDO_STRATEGY"
                                                  : "--strategy");
    wanted = takes_servers(*kind);
    needed = needs_servers(*kind);
  }
  if (args.servers < 0 || args.servers > kMostServers)
    return error(Code::kInvalidArgument, "--servers {}: expected from 0 to {}",
                 args.servers, kMostServers);
  if (args.servers > 0 && !wanted)
    return error(Code::kInvalidArgument,
                 "--servers {} needs a strategy with servers: add --strategy "
                 "hybrid, ps, ps-async or ssp",
                 args.servers);
  if (needed && args.servers == 0)
    return error(Code::kInvalidArgument,
                 "the strategy {}{} needs parameter servers: add --servers 1, "
                 "or more",
                 strategy, inherited ? " of RONDO_STRATEGY" : "");
  return {};
}

// Only the strategy ps has steps that could do without some ranks.
Status check_backup(const RunArguments& args, const Env& env) {
  const std::string strategy = args.strategy.empty()
                                   ? env.get_or("RONDO_STRATEGY", "ring")
                                   : args.strategy;
  RONDO_ASSIGN_OR_RETURN(const StrategyKind kind, parse_strategy(strategy));
  return check_backup(fmt::format("--backup {}", args.backup), args.backup,
                      kind, args.ranks);
}

Status check(const RunArguments& args, const CommandLine& line) {
  if (!args.stray.empty())
    return error(Code::kInvalidArgument,
                 "put -- in front of the program: rondo run -n 4 -- {} ...",
                 args.stray.front());
  if (line.program.empty())
    return error(Code::kInvalidArgument,
                 "no program to run: rondo run -n 4 -- PROGRAM ARGS...");
  if (args.ranks_option->count() > 0 &&
      (args.ranks < 1 || args.ranks > kMaxRanks))
    return error(Code::kInvalidArgument, "-n {}: a job has from 1 to {} ranks",
                 args.ranks, kMaxRanks);
  if (!args.hosts.empty() && !args.hostfile.empty())
    return error(Code::kInvalidArgument,
                 "--hosts and --hostfile both say where to run; give one");
  if (!(args.timeout >= 0 && args.grace >= 0 && args.timeout < 1e9 &&
        args.grace < 1e9))
    return error(Code::kInvalidArgument,
                 "--timeout and --grace take a number of seconds from 0");
  if (args.growth.min_ranks < 0 || args.growth.min_ranks > kMaxRanks)
    return error(Code::kInvalidArgument,
                 "--min-ranks {}: a job has from 1 to {} ranks",
                 args.growth.min_ranks, kMaxRanks);
  return {};
}

std::string hosts_option(const RunArguments& args) {
  if (!args.hosts.empty()) return "--hosts";
  return args.hostfile.empty() ? "" : "--hostfile";
}

// How many ranks the job begins with; 0: one for every slot.
int first_ranks(const RunArguments& args, const std::vector<Host>& hosts) {
  if (args.ranks > 0 || !args.growth.grows()) return args.ranks;
  return args.growth.first_ranks(hosts);
}

Status check_min_ranks(int min_ranks, const std::vector<HostRanks>& hosts) {
  const int ranks = hosts.back().first_rank + hosts.back().count;
  if (min_ranks <= ranks) return {};
  return error(Code::kInvalidArgument,
               "--min-ranks {}: the job has {} ranks; give at most as many",
               min_ranks, ranks);
}

// What Strategy::from_env() is told.
void add_strategy(const RunArguments& args,
                  std::map<std::string, std::string>* variables) {
  if (!args.strategy.empty()) (*variables)["RONDO_STRATEGY"] = args.strategy;
  if (args.staleness >= 0)
    (*variables)["RONDO_STALENESS"] = std::to_string(args.staleness);
  if (args.backup_option->count() > 0)
    (*variables)["RONDO_BACKUP"] = std::to_string(args.backup);
}

Result<LaunchOptions> run_options(const RunArguments& args,
                                  const CommandLine& line, const Env& env) {
  LaunchOptions options;
  options.argv = line.program;
  RONDO_ASSIGN_OR_RETURN(const auto hosts,
                         chosen_hosts(args, env, &options.use_srun));
  RONDO_ASSIGN_OR_RETURN(options.hosts,
                         assign_ranks(hosts, first_ranks(args, hosts)));
  RONDO_RETURN_IF_ERROR(check_min_ranks(args.growth.min_ranks, options.hosts));
  add_strategy(args, &options.environment);
  options.servers = args.servers;
  options.restart_servers = args.restart_servers;
  options.server_log = args.server_log;
  for (const std::string& text : args.environment)
    RONDO_RETURN_IF_ERROR(add_variable(text, env, &options.environment));
  options.directory = args.directory;
  options.interface = args.interface;
  options.port_range = args.port_range;
  options.timeout = seconds(args.timeout);
  options.grace = seconds(args.grace);
  options.min_ranks = args.growth.min_ranks;
  options.discovery = args.growth.discovery();
  options.max_ranks = args.growth.max_ranks;
  options.prefix = !args.no_prefix;
  options.colour = !env.has("NO_COLOR") && env.get_or("TERM", "") != "dumb";
  options.ssh_command = CLI::detail::split_up(args.ssh_command);
  if (options.ssh_command.empty())
    return error(Code::kInvalidArgument, "--ssh-command is empty");
  options.remote_rondo = args.remote_rondo;
  return options;
}

// Becomes the program: whoever started this process gave it a rank.
Result<int> become_program(const RunArguments& args, const CommandLine& line,
                           const Env& env) {
  auto environment = process_environment();
  if (!args.interface.empty()) environment["RONDO_INTERFACE"] = args.interface;
  if (!args.port_range.empty())
    environment["RONDO_PORT_RANGE"] = args.port_range;
  add_strategy(args, &environment);
  for (const std::string& text : args.environment)
    RONDO_RETURN_IF_ERROR(add_variable(text, env, &environment));
  if (!args.directory.empty() && chdir(args.directory.c_str()) != 0)
    return errno_error(Code::kInvalidArgument, errno,
                       "--wdir " + args.directory);
  RONDO_ASSIGN_OR_RETURN(const std::string path,
                         find_program(line.program[0], environment, ""));
  return execute(path, line.program, environment);
}

Result<int> run(const RunArguments& args, const CommandLine& line) {
  const Env env = Env::process();
  RONDO_RETURN_IF_ERROR(check(args, line));
  RONDO_RETURN_IF_ERROR(args.growth.check(args.ranks, hosts_option(args)));
  if (args.ranks_option->count() == 0 && hosts_option(args).empty() &&
      !args.growth.grows() && detect_outer_job(env) == OuterJob::kRank) {
    if (args.servers > 0)
      return error(Code::kInvalidArgument,
                   "--servers: this is one rank of a job that somebody else "
                   "started; give -n or --hosts, so that rondo starts all of "
                   "it");
    if (!args.strategy.empty())
      if (const auto kind = parse_strategy(args.strategy); !kind.ok())
        return kind.status().with_context("--strategy");
    RONDO_RETURN_IF_ERROR(check_backup(args, env));
    return become_program(args, line, env);
  }
  RONDO_RETURN_IF_ERROR(check_servers(args, env));
  RONDO_RETURN_IF_ERROR(check_backup(args, env));
  RONDO_ASSIGN_OR_RETURN(const LaunchOptions options,
                         run_options(args, line, env));
  return run_job(options);
}

}  // namespace

void add_run_command(CLI::App& app, CommandLine& line) {
  auto args = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Start a program as the ranks of a job");
  command->formatter(std::make_shared<RunFormatter>());
  command->footer(kFooter);
  args->ranks_option =
      command->add_option("-n,--ranks", args->ranks, "Number of ranks")
          ->type_name("N");
  const auto text = [&](const char* name, std::string& value, const char* help,
                        const char* type) {
    command->add_option(name, value, help)->type_name(type);
  };
  text("--hosts", args->hosts, "Hosts and how many ranks each takes",
       "a:4,b:4");
  text("--hostfile", args->hostfile, "The same, one host per line", "FILE");
  command
      ->add_option("--env", args->environment,
                   "A variable for every rank; NAME alone hands this one on")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  text("--wdir", args->directory, "Directory to start the ranks in", "DIR");
  text("--interface", args->interface,
       "Interfaces to use: names, networks, addresses, ^excluded", "SPEC");
  text("--port-range", args->port_range, "Ports to listen on", "A-B");
  text("--strategy", args->strategy,
       "How the ranks train together: single, ring, allreduce, hybrid, ps, "
       "ps-async, ssp",
       "NAME");
  command
      ->add_option("--servers", args->servers,
                   "Servers to start besides the ranks, for hybrid, ps, "
                   "ps-async, ssp")
      ->type_name("N");
  command
      ->add_option("--restart-servers", args->restart_servers,
                   "How often a server that is killed is started again, with "
                   "its log")
      ->type_name("N");
  text("--server-log", args->server_log,
       "With --restart-servers: folder on the servers' hosts for their logs",
       "DIR");
  command
      ->add_option("--staleness", args->staleness,
                   "With ssp: steps that a rank may be ahead of the slowest")
      ->type_name("STEPS");
  args->backup_option =
      command
          ->add_option(
              "--backup", args->backup,
              "With ps: of how many ranks, the slowest, no step waits for")
          ->type_name("N");
  command
      ->add_option("--timeout", args->timeout,
                   "End the job after so long (exit code 124)")
      ->type_name("SECONDS");
  command
      ->add_option("--grace", args->grace,
                   "Time for the others after a rank failed")
      ->type_name("SECONDS")
      ->capture_default_str();
  args->growth.add_to(*command);
  command->add_flag("--no-prefix", args->no_prefix,
                    "Output as it is, without [RANK] in front");
  text("--ssh-command", args->ssh_command, "How to call ssh", "COMMAND");
  text("--remote-rondo", args->remote_rondo, "Path of rondo on the other hosts",
       "PATH");
  command->add_option("program", args->stray)->group("");
  command->callback([args, &line] {
    line.takes_program = true;
    line.action = [args, &line] {
      const Result<int> code = run(*args, line);
      if (code.ok()) return *code;
      std::fprintf(stderr, "rondo run: %s\n", code.status().message().c_str());
      return kUsageError;
    };
  });
}

}  // namespace rondo
