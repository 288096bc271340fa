#include "rondo/cluster/server_impl.h"

#include <algorithm>

#include "rondo/base/cores.h"
#include "rondo/base/log.h"
#include "rondo/cluster/master_session.h"
#include "rondo/cluster/remote_worker.h"
#include "rondo/graph/device_name.h"
#include "rondo/graph/ops/transfer.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

constexpr Duration kAloneTime = std::chrono::seconds(2);
constexpr Duration kStatusTime = std::chrono::seconds(30);

Result<TaskName> task_of(const std::string& device) {
  RONDO_ASSIGN_OR_RETURN(const DeviceName name, DeviceName::parse(device));
  if (!name.job || !name.task)
    return error(Code::kInvalidArgument, "device {} is of no task", device);
  return TaskName{*name.job, *name.task};
}

PeerOptions peer_options(const ClusterOptions& options, const TaskName& task,
                         std::shared_ptr<Copier> copier) {
  return {.token = options.token,
          .tls = options.tls,
          .caller = task.to_string(),
          .patience = options.patience,
          .copier = std::move(copier)};
}

Result<bool> takes_part(const TaskName& task,
                        const ClusterSessionOptions& options) {
  if (options.device_filters.empty()) return true;
  DeviceName full;
  full.job = task.job;
  full.task = task.index;
  for (const std::string& filter : options.device_filters) {
    RONDO_ASSIGN_OR_RETURN(DeviceName wanted, DeviceName::parse(filter));
    // A task takes part whichever of its devices are meant.
    wanted.type.reset();
    wanted.index.reset();
    if (wanted.matches(full)) return true;
  }
  return false;
}

}  // namespace

Server::Impl::Impl(ClusterSpec the_cluster, TaskName the_task,
                   const ServerOptions& the_options)
    : cluster(std::move(the_cluster)),
      task(std::move(the_task)),
      options(the_options),
      incarnation(random_u64()),
      started(Clock::now()),
      copier(std::make_shared<Copier>(Copier::helpers_for(share_of_cores()))) {}

Server::Impl::~Impl() {
  stop();
  // Whoever still works for a call uses what comes after.
  threads.reset();
  local.reset();
}

Status Server::Impl::start() {
  RONDO_ASSIGN_OR_RETURN(const std::string text, cluster.address(task));
  RONDO_ASSIGN_OR_RETURN(address, HostPort::parse(text));
  const std::string prefix = task.to_string() + "/";
  steps = std::make_shared<StepTable>(
      [prefix](const std::string& key) { return key.starts_with(prefix); },
      [this](int64_t step, const std::string& key, Rendezvous::Done done) {
        fetch(step, key, std::move(done));
      });
  std::vector<std::string> devices;
  for (int i = 0; i < std::max(1, options.cpus); ++i)
    devices.push_back(fmt::format("{}cpu:{}", prefix, i));
  local = std::make_unique<LocalWorker>(LocalWorker::Options{
      .devices = std::move(devices),
      .inter_op_threads = options.inter_op_threads,
      .intra_op_threads = options.intra_op_threads,
      .rendezvous = [this](int64_t step) { return steps->rendezvous(step); }});
  worker = std::make_shared<TaskWorker>(*local, *steps);
  threads = std::make_unique<RunThreads>();
  worker_service = std::make_unique<WorkerService>(
      *worker, *steps, *threads, [this](const auto& parts, Deadline deadline) {
        return prepare(parts, deadline);
      });
  session_service = std::make_unique<SessionService>(
      [this](Graph& graph, const ClusterSessionOptions& session_options,
             Deadline deadline) {
        return session(graph, session_options, deadline, nullptr);
      },
      *threads, options.lease);
  return listen();
}

Status Server::Impl::listen() {
  RONDO_ASSIGN_OR_RETURN(const auto here,
                         SocketAddress::resolve(address.host, 0));
  const bool loopback = std::all_of(
      here.begin(), here.end(), [](const auto& a) { return a.is_loopback(); });
  if (options.common.tls.wanted() && !loopback)
    log(LogLevel::kWarning,
        "TLS protects this task's control calls only: tensors and steps travel "
        "between hosts authenticated by the token, but not encrypted");
  RONDO_ASSIGN_OR_RETURN(const PortRange ports,
                         PortRange::parse(options.link_ports));
  std::vector<SocketAddress> everywhere = {
      SocketAddress::parse("0.0.0.0:0").value(),
      SocketAddress::parse("[::]:0").value()};
  RONDO_ASSIGN_OR_RETURN(
      links,
      LinkServer::start(
          {.addresses = loopback ? here : everywhere,
           .ports = ports,
           .token = options.common.token,
           .incarnation = incarnation,
           .copier = copier},
          [this](uint64_t link, LinkCall call, LinkServer::Answer answer) {
            serve(link, std::move(call), std::move(answer));
          },
          [this](uint64_t link) {
            worker_service->gone(link);
            session_service->gone(link);
          }));
  // Before the first call can come.
  peers = std::make_unique<Peers>(cluster,
                                  peer_options(options.common, task, copier));
  auto listening = ControlServer::start({.address = address,
                                         .loopback_only = loopback,
                                         .token = options.common.token,
                                         .tls = options.common.tls,
                                         .incarnation = incarnation},
                                        *this);
  if (!listening.ok())
    return listening.status().with_context(fmt::format(
        "{} cannot serve at {} (is another process this task already?)",
        task.to_string(), address.to_string()));
  control = std::move(*listening);
  const bool chosen = address.port == 0;
  if (chosen) {
    address.port = control->port();
    cluster = cluster.with_address(task, address.to_string());
  }
  return chosen ? Status() : check_alone();
}

Status Server::Impl::check_alone() {
  RONDO_ASSIGN_OR_RETURN(
      auto client,
      ControlClient::make(address.to_string(), {.token = options.common.token,
                                                .tls = options.common.tls}));
  auto answer = client->hello(Deadline(kAloneTime));
  // An address that leads here only for others is theirs to try.
  if (!answer.ok() || answer->incarnation == incarnation) return {};
  return error(Code::kResource,
               "another process answers at {} as {}: {} runs already, or the "
               "cluster's addresses are not right for this host",
               address.to_string(), answer->task, task.to_string());
}

std::string Server::Impl::target() const {
  return fmt::format("grpc://{}", address.to_string());
}

void Server::Impl::stop() {
  {
    const MutexLock lock(mutex);
    // Who comes second may let the server go as soon as this returns.
    while (stopping && !stopped) changed.wait(mutex);
    if (stopped) return;
    stopping = true;
  }
  const Status why =
      error(Code::kCancelled, "the server of {} was stopped", task.to_string());
  // Calls that wait for a task would hold up the rest.
  if (peers) peers->give_up();
  if (control) control->stop();
  {
    const MutexLock lock(mutex);
    for (MasterSession* session : sessions) session->close();
  }
  if (session_service) session_service->close_all();
  if (steps) steps->abort_all(why);
  if (links) links->stop();
  if (peers) peers->close(why);
  const MutexLock lock(mutex);
  stopped = true;
  changed.notify_all();
}

void Server::Impl::join() {
  const MutexLock lock(mutex);
  while (!stopped) {
    changed.wait_for(mutex, seconds(0.1));
    if (Deadline::never().passed()) return;  // this thread was interrupted
  }
}

void Server::Impl::serve(uint64_t link, LinkCall call,
                         LinkServer::Answer answer) {
  if (worker_service->serve(link, call, answer)) return;
  if (session_service->serve(link, call, answer)) return;
  answer(
      error(Code::kMismatch,
            "{} knows no method {}: run the same release of Rondo everywhere",
            task.to_string(), call.method));
}

void Server::Impl::fetch(int64_t step, const std::string& key,
                         Rendezvous::Done done) {
  const auto transfer = TensorTransfer::parse(key);
  if (!transfer.ok()) return done(transfer.status());
  const auto from = task_of(transfer->from);
  if (!from.ok()) return done(from.status());
  auto link = peers->link(*from);
  if (!link.ok()) return done(link.status());
  get_over(**link, step, key, std::move(done));
}

Status Server::Impl::prepare(const std::vector<Worker::Part>& parts,
                             Deadline deadline) {
  for (const Worker::Part& part : parts)
    for (const auto& node : part.subgraph.graph->nodes()) {
      if (!is_recv(*node)) continue;
      RONDO_ASSIGN_OR_RETURN(const TaskName from,
                             task_of(TensorTransfer::of(*node).from));
      if (from != task)
        RONDO_RETURN_IF_ERROR(peers->connect(from, deadline).status());
    }
  return {};
}

Result<std::unique_ptr<Session>> Server::Impl::session(
    Graph& graph, const ClusterSessionOptions& session_options,
    Deadline deadline, std::shared_ptr<Impl> keep) {
  std::vector<std::shared_ptr<Worker>> workers;
  for (const TaskName& other : cluster.tasks()) {
    if (other == task) continue;
    RONDO_ASSIGN_OR_RETURN(const bool wanted,
                           takes_part(other, session_options));
    if (!wanted) continue;
    RONDO_ASSIGN_OR_RETURN(const Peer peer, peers->connect(other, deadline));
    auto state =
        peer.control->status(Deadline(std::min(kStatusTime, deadline.left())));
    if (!state.ok()) return state.status().with_context(other.to_string());
    workers.push_back(std::make_shared<RemoteWorker>(
        other.to_string(), state->devices, peer.link));
  }
  workers.push_back(worker);
  auto made = std::make_unique<MasterSession>(
      graph, std::move(workers),
      [this, keep = std::move(keep)](MasterSession* over) {
        const MutexLock lock(mutex);
        sessions.erase(over);
      },
      session_options);
  {
    const MutexLock lock(mutex);
    if (stopping)
      return error(Code::kCancelled, "the server of {} was stopped",
                   task.to_string());
    sessions.insert(made.get());
  }
  return std::make_unique<Session>(std::move(made));
}

HelloInfo Server::Impl::hello() {
  HelloInfo info{task.to_string(), incarnation, {0, 0}};
  for (const SocketAddress& a : links->addresses())
    info.link_ports[a.family() == AF_INET ? 0 : 1] = a.port();
  return info;
}

TaskStatus Server::Impl::status() {
  return {task.to_string(),         local->devices(),
          worker_service->graphs(), static_cast<int64_t>(steps->size()),
          session_service->size(),  to_seconds(Clock::now() - started)};
}

Status Server::Impl::reset(const std::vector<std::string>& containers) {
  if (containers.empty()) local->containers().clear_all();
  for (const std::string& name : containers) local->containers().clear(name);
  return {};
}

Result<SessionInfo> Server::Impl::create_session(
    const ClusterSessionOptions& session_options, Deadline deadline) {
  return session_service->create(session_options, deadline);
}

Status Server::Impl::close_session(uint64_t session) {
  return session_service->close(session);
}

Status Server::Impl::reset_cluster(const std::vector<std::string>& containers,
                                   Deadline deadline) {
  for (const TaskName& other : cluster.tasks()) {
    if (other == task) continue;
    RONDO_ASSIGN_OR_RETURN(const Peer peer, peers->connect(other, deadline));
    RONDO_RETURN_IF_ERROR(peer.control->reset(containers, deadline)
                              .with_context(other.to_string()));
  }
  return reset(containers);
}

}  // namespace rondo
