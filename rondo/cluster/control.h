// The control plane: what tasks and clients ask each other besides steps.
// ControlServer answers it, ControlClient asks. Both speak gRPC, which no
// header shows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/cluster/cluster_spec.h"
#include "rondo/cluster/session_options.h"
#include "rondo/cluster/task_status.h"
#include "rondo/cluster/tls.h"

namespace rondo {

struct HelloInfo {
  std::string task;
  uint64_t incarnation = 0;
  std::vector<int> link_ports;  // IPv4, IPv6; 0: none
};

struct SessionInfo {
  uint64_t session = 0;
  std::vector<std::string> devices;  // full names
};

// What a task does about calls. Several threads may call at once.
class ControlService {
 public:
  virtual ~ControlService() = default;
  virtual HelloInfo hello() = 0;
  virtual TaskStatus status() = 0;
  virtual Status reset(const std::vector<std::string>& containers) = 0;
  // Waits for the tasks that take part.
  virtual Result<SessionInfo> create_session(
      const ClusterSessionOptions& options, Deadline deadline) = 0;
  virtual Status close_session(uint64_t session) = 0;
  virtual Status reset_cluster(const std::vector<std::string>& containers,
                               Deadline deadline) = 0;
};

class ControlServer {
 public:
  struct Options {
    HostPort address;
    bool loopback_only = false;
    std::string token;
    TlsFiles tls;
    uint64_t incarnation = 0;
  };
  static Result<std::unique_ptr<ControlServer>> start(const Options& options,
                                                      ControlService& service);
  virtual ~ControlServer() = default;
  virtual int port() const = 0;
  // Ends the calls that are under way.
  virtual void stop() = 0;
};

class ControlClient {
 public:
  struct Options {
    std::string token;
    TlsFiles tls;
  };
  // Does not connect yet. An error when a file of `tls` cannot be read.
  static Result<std::unique_ptr<ControlClient>> make(const std::string& address,
                                                     const Options& options);
  virtual ~ControlClient() = default;
  // Checks that the task knows the token; the other calls need it once before.
  virtual Result<HelloInfo> hello(Deadline deadline) = 0;
  virtual Result<TaskStatus> status(Deadline deadline) = 0;
  virtual Status reset(const std::vector<std::string>& containers,
                       Deadline deadline) = 0;
  virtual Result<SessionInfo> create_session(
      const ClusterSessionOptions& options, Deadline deadline) = 0;
  virtual Status close_session(uint64_t session, Deadline deadline) = 0;
  virtual Status reset_cluster(const std::vector<std::string>& containers,
                               Deadline deadline) = 0;
};

}  // namespace rondo
