// `rondo parameter-server`: what `rondo run --servers` starts. Not for people.
#include <unistd.h>

#include <cstdio>

#include "rondo/base/log.h"
#include "rondo/cli/command.h"
#include "rondo/collectives/communicator.h"
#include "rondo/ps/kv_server.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/train/server_rules.h"

namespace rondo {
namespace {

// The ranks say what the rules are once they train, however late that is; the
// launcher ends servers that are not needed.
Result<KvRules> rules_of(Store& store) {
  for (;;) {
    auto rules = wait_for_rules(store, Deadline(seconds(3600)));
    if (rules.ok() || rules.status().code() != Code::kTimeout) return rules;
  }
}

Result<std::unique_ptr<KvServer>> start(const Env& env, bool logs) {
  RONDO_ASSIGN_OR_RETURN(JobEnv job, JobEnv::from(env));
  RONDO_ASSIGN_OR_RETURN(const int64_t servers,
                         env.get_int("RONDO_SERVERS", 0, 0, job.size - 1));
  const int number = job.rank - (job.size - static_cast<int>(servers));
  if (number < 0)
    return error(Code::kInvalidArgument,
                 "this is started by rondo run --servers, not by hand");
  set_log_prefix(fmt::format("server {}", number));
  RONDO_ASSIGN_OR_RETURN(const auto settings,
                         CommunicatorOptions::from_env(env));
  RONDO_ASSIGN_OR_RETURN(const PortRange ports,
                         PortRange::parse(settings.port_range));
  RONDO_ASSIGN_OR_RETURN(
      auto store, open_store(job, Deadline(seconds(settings.connect_timeout))));
  RONDO_ASSIGN_OR_RETURN(const KvRules rules, rules_of(*store));
  KvServerOptions options;
  options.server = number;
  options.rules = rules;
  options.store = std::move(store);
  options.token = settings.token.empty() ? job.token : settings.token;
  options.interface = settings.interface;
  options.ports = ports;
  if (logs) options.folder = env.get_or("RONDO_SERVER_LOG", "");
  return KvServer::start(options);
}

int serve(bool logs) {
  const auto server = start(Env::process(), logs);
  if (!server.ok()) {
    std::fprintf(stderr, "rondo: %s\n", server.status().message().c_str());
    return 1;
  }
  // Until the launcher ends this process; nothing is lost by that.
  for (;;) pause();
}

}  // namespace

void add_parameter_server_command(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("parameter-server", "Serve a rondo run's parameters");
  command->group("");  // not in the help
  const auto logs = std::make_shared<bool>(false);
  command->add_flag("--log", *logs, "Keep a log in the launcher's folder");
  command->callback(
      [&line, logs] { line.action = [logs] { return serve(*logs); }; });
}

}  // namespace rondo
