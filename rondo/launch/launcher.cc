#include "rondo/launch/launcher.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "rondo/launch/descendants.h"
#include "rondo/launch/job.h"
#include "rondo/launch/process.h"
#include "rondo/launch/store_address.h"
#include "rondo/rendezvous/job_over.h"
#include "rondo/rendezvous/job_server.h"
#include "rondo/rendezvous/tcp_store.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

bool is_here(const std::string& host) { return host == "localhost"; }

Result<std::vector<std::string>> agent_command(const LaunchOptions& options,
                                               const std::string& host) {
  RONDO_ASSIGN_OR_RETURN(const std::string own, own_path());
  if (is_here(host)) return std::vector<std::string>{own, "remote-agent"};
  const std::string there =
      options.remote_rondo.empty() ? own : options.remote_rondo;
  if (options.use_srun)
    // Overlapping: the allocation's processors may be taken by the step that
    // the launcher itself runs in. --mem=0 for the same reason.
    return std::vector<std::string>{
        "srun",    "--nodes=1",          "--ntasks=1", "--overlap",   "--mem=0",
        "--quiet", "--nodelist=" + host, there,        "remote-agent"};
  std::vector<std::string> command = options.ssh_command;
  // Options given first win, so those in ssh_command override these.
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=20",
                             "ServerAliveInterval=5", "ServerAliveCountMax=3"})
    command.insert(command.end(), {"-o", option});
  // A remote shell reads it, which ssh always puts in between.
  command.insert(command.end(), {host, shell_quoted(there) + " remote-agent"});
  return command;
}

std::vector<std::string> remote_hosts(const LaunchOptions& options) {
  std::vector<std::string> hosts;
  for (const HostRanks& ranks : options.hosts)
    if (!is_here(ranks.host)) hosts.push_back(ranks.host);
  return hosts;
}

int world_size(const LaunchOptions& options) {
  int size = 0;
  for (const HostRanks& ranks : options.hosts) size += ranks.count;
  return size;
}

// What every rank of the job is told, on every host.
Result<std::map<std::string, std::string>> job_environment(
    const LaunchOptions& options, const TcpStoreServer& store,
    const std::string& token) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : process_environment())
    if (name.starts_with("RONDO_")) variables[name] = value;
  const SocketAddress address = store.address();
  if (!options.interface.empty())
    variables["RONDO_INTERFACE"] = options.interface;
  else if (address.is_loopback())
    variables["RONDO_INTERFACE"] = "lo";
  if (!options.port_range.empty())
    variables["RONDO_PORT_RANGE"] = options.port_range;
  for (const auto& [name, value] : options.environment) variables[name] = value;
  if (options.servers > 0)
    variables["RONDO_SERVERS"] = std::to_string(options.servers);
  variables["RONDO_RESTART_SERVERS"] =
      std::to_string(options.servers > 0 ? options.restart_servers : 0);
  if (!options.discovery.command.empty())
    variables["RONDO_MAX_RANKS"] = std::to_string(options.max_ranks);
  variables["RONDO_STORE"] = "tcp://" + address.to_string();
  variables["RONDO_TOKEN"] = token;
  return variables;
}

Status check_restarts(const LaunchOptions& options) {
  if (options.restart_servers < 0)
    return error(Code::kInvalidArgument,
                 "--restart-servers {}: expected a number of times from 0",
                 options.restart_servers);
  if (options.restart_servers > 0 && options.servers == 0)
    return error(Code::kInvalidArgument,
                 "--restart-servers {}: the job has no servers; add --servers "
                 "1, or leave it out",
                 options.restart_servers);
  if (options.restart_servers == 0 && !options.server_log.empty())
    return error(Code::kInvalidArgument,
                 "--server-log {}: servers keep a log to be started again; add "
                 "--restart-servers 3, or leave it out",
                 options.server_log);
  return {};
}

Status check(const LaunchOptions& options) {
  if (options.argv.empty())
    return error(Code::kInvalidArgument, "no program to run");
  const int size = world_size(options);
  if (size < 1 || size > kMaxRanks)
    return error(Code::kInvalidArgument, "a job has from 1 to {} ranks, not {}",
                 kMaxRanks, size);
  if (options.servers > 0 && !options.discovery.command.empty())
    return error(Code::kInvalidArgument,
                 "a job with parameter servers cannot grow: leave --servers or "
                 "--host-discovery-script out");
  return check_restarts(options);
}

std::string absolute(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::absolute(path, ignored).lexically_normal();
}

std::string log_folder(const LaunchOptions& options) {
  if (!options.server_log.empty()) return absolute(options.server_log);
  const auto variables = process_environment();
  const auto at = variables.find("TMPDIR");
  return at == variables.end() || at->second.empty() ? "/tmp" : at->second;
}

// Adds the job's parameter servers, which are rondo itself, as evenly to the
// hosts as can be. They are numbered behind the ranks.
Status add_servers(Job& job, const LaunchOptions& options, JobSpec spec) {
  const auto hosts = static_cast<int>(options.hosts.size());
  spec.first_rank = spec.world_size;
  spec.world_size += options.servers;
  spec.directory_required = false;
  spec.restarts = options.restart_servers;
  if (spec.restarts > 0) spec.scratch = log_folder(options);
  for (int i = 0; i < hosts; ++i) {
    const std::string& host = options.hosts[static_cast<size_t>(i)].host;
    spec.count = options.servers / hosts + (i < options.servers % hosts);
    if (spec.count == 0) break;
    RONDO_ASSIGN_OR_RETURN(const std::string own, own_path());
    spec.argv = {is_here(host) || options.remote_rondo.empty()
                     ? own
                     : options.remote_rondo,
                 "parameter-server"};
    if (spec.restarts > 0) spec.argv.emplace_back("--log");
    RONDO_ASSIGN_OR_RETURN(const auto command, agent_command(options, host));
    RONDO_RETURN_IF_ERROR(job.add_host(command, host, spec));
    spec.first_rank += spec.count;
  }
  return {};
}

// Writes into the job's store, for ranks that look there.
void tell_ranks(const TcpStoreServer& store, const std::string& token,
                const std::string& key, const std::string& value) {
  constexpr Duration kPatience = std::chrono::seconds(2);
  const SocketAddress address = store.address();
  const auto client = connect_tcp_store(address.host_string(), address.port(),
                                        token, Deadline(kPatience));
  // Else ranks find out by themselves, later.
  if (client.ok()) (void)(*client)->set(key, value);
}

// Adds ranks to a job that runs; the size of the job's world is of no meaning
// to them, but that their numbers are below it.
Status add_ranks(Job& job, const LaunchOptions& options,
                 const SocketAddress& store, JobSpec spec,
                 const HostRanks& more) {
  if (store.is_loopback() && !is_here(more.host)) {
    RONDO_ASSIGN_OR_RETURN(const SocketAddress needed,
                           store_address({more.host}, ""));
    if (!needed.is_loopback())
      return error(Code::kInvalidArgument,
                   "cannot add ranks on {}: the job began on this host alone, "
                   "and listens on the loopback interface; start it with "
                   "--interface, which says where {} reaches it",
                   more.host, more.host);
  }
  spec.first_rank = more.first_rank;
  spec.count = more.count;
  spec.world_size = more.first_rank + more.count;
  spec.environment["RONDO_ADDED"] = "1";
  RONDO_ASSIGN_OR_RETURN(const auto command, agent_command(options, more.host));
  return job.add_host(command, more.host, spec);
}

}  // namespace

Result<int> run_job(const LaunchOptions& options) {
  RONDO_RETURN_IF_ERROR(check(options));
  ensure_standard_streams();
  signal(SIGPIPE, SIG_IGN);
  RONDO_ASSIGN_OR_RETURN(const PortRange ports,
                         PortRange::parse(options.port_range));
  RONDO_ASSIGN_OR_RETURN(
      const SocketAddress address,
      store_address(remote_hosts(options), options.interface));

  JobOptions job_options;
  job_options.ranks = world_size(options);
  job_options.servers = options.servers;
  job_options.output.servers = options.servers;
  job_options.timeout = options.timeout;
  job_options.grace = options.grace;
  job_options.term_time = options.term_time;
  job_options.min_ranks = options.min_ranks;
  job_options.restart_servers = options.restart_servers;
  const std::string token = make_token();
  std::unique_ptr<TcpStoreServer> store;
  job_options.server_lost = [&](int server, const std::string& why) {
    tell_ranks(*store, token, job_server_key(server), lost_server(why));
  };
  job_options.growth_over = [&] {
    tell_ranks(*store, token, kJobOverKey, "1");
  };
  job_options.discovery = options.discovery;
  job_options.max_ranks = options.max_ranks;
  job_options.output.prefix = options.prefix;
  job_options.output.colour_out = options.colour && isatty(STDOUT_FILENO) == 1;
  job_options.output.colour_err = options.colour && isatty(STDERR_FILENO) == 1;
  // Before the store's thread starts, so that no signal goes there.
  RONDO_ASSIGN_OR_RETURN(const auto job, Job::create(job_options));

  RONDO_ASSIGN_OR_RETURN(store, TcpStoreServer::start(address, ports, token));
  JobSpec spec;
  spec.argv = options.argv;
  RONDO_ASSIGN_OR_RETURN(spec.environment,
                         job_environment(options, *store, token));
  spec.directory =
      absolute(options.directory.empty() ? "." : options.directory);
  spec.directory_required = !options.directory.empty();
  spec.world_size = job_options.ranks;
  spec.term_time = options.term_time;
  for (const HostRanks& ranks : options.hosts) {
    spec.first_rank = ranks.first_rank;
    spec.count = ranks.count;
    RONDO_ASSIGN_OR_RETURN(const auto command,
                           agent_command(options, ranks.host));
    RONDO_RETURN_IF_ERROR(job->add_host(command, ranks.host, spec));
  }
  RONDO_RETURN_IF_ERROR(add_servers(*job, options, spec));
  job->grow_by([&, spec](const HostRanks& more) {
    return add_ranks(*job, options, address, spec, more);
  });
  return job->run();
}

}  // namespace rondo
