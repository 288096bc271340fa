#include "rondo/cluster/server.h"

#include <map>

#include "rondo/base/mutex.h"
#include "rondo/cluster/remote_session.h"
#include "rondo/cluster/server_impl.h"
#include "rondo/transport/card.h"

namespace rondo {
namespace {

constexpr std::string_view kScheme = "grpc://";

Result<std::string> address_of(const std::string& target) {
  const std::string text =
      target.starts_with(kScheme) ? target.substr(kScheme.size()) : target;
  auto parsed = HostPort::parse(text);
  if (!parsed.ok() || parsed->port == 0)
    return error(Code::kInvalidArgument,
                 "\"{}\" is no target of a session: expected grpc://host:port",
                 target);
  return text;
}

PeerOptions client_options(const ClusterOptions& options) {
  return {.token = options.token,
          .tls = options.tls,
          .caller = fmt::format("a client on {}", host_name()),
          .patience = options.patience};
}

}  // namespace

Result<ClusterOptions> ClusterOptions::from(const Env& env) {
  ClusterOptions options;
  options.token = env.get_or("RONDO_TOKEN", "");
  options.tls = {env.get_or("RONDO_TLS_CA", ""),
                 env.get_or("RONDO_TLS_CERT", ""),
                 env.get_or("RONDO_TLS_KEY", "")};
  RONDO_ASSIGN_OR_RETURN(const double connect,
                         env.get_seconds("RONDO_CONNECT_TIMEOUT",
                                         to_seconds(options.connect_timeout)));
  RONDO_ASSIGN_OR_RETURN(
      const double patience,
      env.get_seconds("RONDO_PATIENCE", to_seconds(options.patience)));
  options.connect_timeout = seconds(connect);
  options.patience = seconds(patience);
  return options;
}

// The servers of this process by their targets, so that sessions find theirs
// without a call.
struct Server::Here {
  static Here& process() {
    static auto* here = new Here;
    return *here;
  }
  std::shared_ptr<Impl> find(const std::string& target) {
    const MutexLock lock(mutex);
    const auto at = by_target.find(target);
    return at == by_target.end() ? nullptr : at->second.lock();
  }
  Mutex mutex;
  std::map<std::string, std::weak_ptr<Impl>> by_target RONDO_GUARDED_BY(mutex);
};

Server::Server(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  Here& here = Here::process();
  const MutexLock lock(here.mutex);
  here.by_target[impl_->target()] = impl_;
}

Result<std::unique_ptr<Server>> Server::start(const ClusterSpec& cluster,
                                              const TaskName& task,
                                              const ServerOptions& options) {
  auto impl = std::make_shared<Impl>(cluster, task, options);
  RONDO_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() { stop(); }

const TaskName& Server::task() const { return impl_->task; }
const ClusterSpec& Server::cluster() const { return impl_->cluster; }
std::string Server::target() const { return impl_->target(); }
void Server::join() { impl_->join(); }

void Server::stop() {
  {
    Here& here = Here::process();
    const MutexLock lock(here.mutex);
    here.by_target.erase(impl_->target());
  }
  impl_->stop();
}

Result<std::unique_ptr<Session>> open_session(
    Graph& graph, const std::string& target, const ClusterOptions& cluster,
    const ClusterSessionOptions& options) {
  RONDO_ASSIGN_OR_RETURN(const std::string address, address_of(target));
  const Deadline deadline(cluster.connect_timeout);
  if (const auto here =
          Server::Here::process().find(fmt::format("{}{}", kScheme, address)))
    return here->session(graph, options, deadline, here);
  RONDO_ASSIGN_OR_RETURN(
      auto remote, RemoteSession::open(graph, address, client_options(cluster),
                                       options, deadline));
  return std::make_unique<Session>(std::move(remote));
}

Status reset(const std::string& target,
             const std::vector<std::string>& containers,
             const ClusterOptions& cluster) {
  RONDO_ASSIGN_OR_RETURN(const std::string address, address_of(target));
  const Deadline deadline(cluster.connect_timeout);
  RONDO_ASSIGN_OR_RETURN(const Peer peer,
                         reach(address, "", client_options(cluster), deadline));
  return peer.control->reset_cluster(containers, deadline);
}

Result<TaskStatus> task_status(const std::string& target,
                               const ClusterOptions& cluster) {
  RONDO_ASSIGN_OR_RETURN(const std::string address, address_of(target));
  const Deadline deadline(cluster.connect_timeout);
  RONDO_ASSIGN_OR_RETURN(const Peer peer,
                         reach(address, "", client_options(cluster), deadline));
  return peer.control->status(deadline);
}

}  // namespace rondo
