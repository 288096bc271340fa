// `rondo server`: one task of a cluster.
#include "rondo/cluster/server.h"

#include <csignal>
#include <cstdio>

#include "rondo/base/log.h"
#include "rondo/cli/command.h"

namespace rondo {
namespace {

struct ServerArguments {
  std::string cluster;
  std::string job;
  int task = 0;
  ServerOptions options;
  double lease = 30;
};

int fail(const Status& status) {
  std::fprintf(stderr, "rondo: %s\n", status.message().c_str());
  return status.code() == Code::kInvalidArgument ? kUsageError : 1;
}

int serve(ServerArguments arguments) {
  // Before there are threads, so that they all leave them to this one.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  auto common = ClusterOptions::from(Env::process());
  if (!common.ok()) return fail(common.status());
  arguments.options.common = *common;
  arguments.options.lease = seconds(arguments.lease);
  auto cluster = ClusterSpec::parse(arguments.cluster);
  if (!cluster.ok()) return fail(cluster.status());
  const TaskName task{arguments.job, arguments.task};
  set_log_prefix(task.to_string());
  auto server = Server::start(*cluster, task, arguments.options);
  if (!server.ok()) return fail(server.status());
  std::printf("%s serves at %s\n", task.to_string().c_str(),
              (*server)->target().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  (*server)->stop();
  return 0;
}

}  // namespace

void add_server_command(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand(
      "server", "Serve as one task of a cluster, until interrupted");
  auto arguments = std::make_shared<ServerArguments>();
  command
      ->add_option("--cluster", arguments->cluster,
                   "Jobs and addresses: \"ps=h0:2222;worker=h1:2222,h2:2222\"")
      ->required();
  command->add_option("--job", arguments->job, "The task's job")->required();
  command->add_option("--task", arguments->task, "The task's number in the job")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--cpus", arguments->options.cpus, "CPU devices")
      ->check(CLI::Range(1, 1024));
  command->add_option("--inter-op-threads", arguments->options.inter_op_threads,
                      "Threads of a device for independent nodes");
  command->add_option("--intra-op-threads", arguments->options.intra_op_threads,
                      "Threads within a node");
  command->add_option("--link-ports", arguments->options.link_ports,
                      "Port or range (5000-5100) for tensors and steps");
  command
      ->add_option("--lease", arguments->lease,
                   "Seconds that the session of a vanished client is kept")
      ->check(CLI::PositiveNumber);
  command->set_config("--config", "", "A file with these options");
  command->callback([&line, arguments] {
    line.action = [arguments] { return serve(*arguments); };
  });
}

}  // namespace rondo
