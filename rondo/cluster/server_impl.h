// Server::Impl: the parts of a task, and how calls reach them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/cluster/control.h"
#include "rondo/cluster/link.h"
#include "rondo/cluster/peers.h"
#include "rondo/cluster/server.h"
#include "rondo/cluster/session_service.h"
#include "rondo/cluster/step_table.h"
#include "rondo/cluster/task_worker.h"
#include "rondo/cluster/worker_service.h"
#include "rondo/runtime/local_worker.h"
#include "rondo/runtime/run_threads.h"

namespace rondo {

class MasterSession;

struct Server::Impl final : ControlService,
                            std::enable_shared_from_this<Server::Impl> {
  Impl(ClusterSpec cluster, TaskName task, const ServerOptions& options);
  ~Impl() override;

  Status start();
  void stop();
  void join();
  std::string target() const;

  // A session with its master here. One that is of this server's own clients
  // goes before the server does; others keep it.
  Result<std::unique_ptr<Session>> session(Graph& graph,
                                           const ClusterSessionOptions& options,
                                           Deadline deadline,
                                           std::shared_ptr<Impl> keep);

  HelloInfo hello() override;
  TaskStatus status() override;
  Status reset(const std::vector<std::string>& containers) override;
  Result<SessionInfo> create_session(const ClusterSessionOptions& options,
                                     Deadline deadline) override;
  Status close_session(uint64_t session) override;
  Status reset_cluster(const std::vector<std::string>& containers,
                       Deadline deadline) override;

  Status listen();
  // That nobody else answers where the cluster has this task.
  Status check_alone();
  Status prepare(const std::vector<Worker::Part>& parts, Deadline deadline);
  void fetch(int64_t step, const std::string& key, Rendezvous::Done done);
  void serve(uint64_t link, LinkCall call, LinkServer::Answer answer);

  ClusterSpec cluster;
  const TaskName task;
  const ServerOptions options;
  const uint64_t incarnation;
  const Clock::time_point started;
  const std::shared_ptr<Copier> copier;  // of all links
  HostPort address;

  std::unique_ptr<Peers> peers;
  std::shared_ptr<StepTable> steps;
  std::unique_ptr<LocalWorker> local;
  std::shared_ptr<TaskWorker> worker;
  std::unique_ptr<RunThreads> threads;
  std::unique_ptr<WorkerService> worker_service;
  std::unique_ptr<SessionService> session_service;
  std::unique_ptr<LinkServer> links;
  std::unique_ptr<ControlServer> control;

  Mutex mutex;
  CondVar changed;
  bool stopping RONDO_GUARDED_BY(mutex) = false;
  bool stopped RONDO_GUARDED_BY(mutex) = false;
  std::set<MasterSession*> sessions RONDO_GUARDED_BY(mutex);
};

}  // namespace rondo
