// Server: one task of a cluster: its devices and variables, the master for its
// clients' sessions, and what other tasks need of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/env.h"
#include "rondo/cluster/cluster_spec.h"
#include "rondo/cluster/session_options.h"
#include "rondo/cluster/task_status.h"
#include "rondo/cluster/tls.h"
#include "rondo/runtime/session.h"

namespace rondo {

// What tasks and clients of one cluster have in common.
struct RONDO_API ClusterOptions {
  // Who does not know it is turned away; without one, so is everybody from
  // another host.
  std::string token;
  TlsFiles tls;
  // How long to wait for a task that is not up.
  Duration connect_timeout = std::chrono::minutes(5);
  // A task that says nothing for so long while a step waits for it is taken for
  // lost.
  Duration patience = std::chrono::seconds(20);

  // RONDO_TOKEN, RONDO_TLS_CA, RONDO_TLS_CERT, RONDO_TLS_KEY,
  // RONDO_CONNECT_TIMEOUT, RONDO_PATIENCE.
  static Result<ClusterOptions> from(const Env& env);
};

struct RONDO_API ServerOptions {
  ClusterOptions common;
  int cpus = 1;  // devices: /cpu:0, ...
  int inter_op_threads = 0;
  int intra_op_threads = 0;
  // How long the session of a client that vanished is kept.
  Duration lease = std::chrono::seconds(30);
  // Where tensors and steps come in: a port, a range ("5000-5100"), or "" for
  // any.
  std::string link_ports;
};

// A session whose master is the server at `target` ("grpc://host:port"). Where
// that is a server of this process, its steps begin here, without a call.
// Waits for the tasks that take part. The graph must outlive the session.
RONDO_API Result<std::unique_ptr<Session>> open_session(
    Graph& graph, const std::string& target, const ClusterOptions& cluster = {},
    const ClusterSessionOptions& options = {});

// Serves from start() to stop(). Variables live in it and outlive sessions.
// Thread-safe.
class RONDO_API Server {
 public:
  // An error when the cluster has no such task, its port is taken, or another
  // process answers for it already.
  static Result<std::unique_ptr<Server>> start(const ClusterSpec& cluster,
                                               const TaskName& task,
                                               const ServerOptions& options);
  ~Server();  // stops
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const TaskName& task() const;
  // With the port that the system chose in the place of 0.
  const ClusterSpec& cluster() const;
  // "grpc://host:port": for sessions of this process and of others.
  std::string target() const;
  // Ends all sessions and steps; other tasks see it as lost.
  void stop();
  // Waits until stop() has been called, and has ended everything.
  void join();

 private:
  struct Impl;
  struct Here;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
  friend Result<std::unique_ptr<Session>> open_session(
      Graph& graph, const std::string& target, const ClusterOptions& cluster,
      const ClusterSessionOptions& options);
};

// Clears containers of variables on all tasks of the cluster that the server at
// `target` belongs to; none named: all of them.
RONDO_API Status reset(const std::string& target,
                       const std::vector<std::string>& containers = {},
                       const ClusterOptions& cluster = {});

// What the task at `target` has and does.
RONDO_API Result<TaskStatus> task_status(const std::string& target,
                                         const ClusterOptions& cluster = {});

}  // namespace rondo
