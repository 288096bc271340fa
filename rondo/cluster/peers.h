// Peers: the links from this process to the tasks of a cluster.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/cluster/cluster_spec.h"
#include "rondo/cluster/control.h"
#include "rondo/cluster/link.h"

namespace rondo {

// A task that was reached.
struct Peer {
  std::string name;  // "/job:ps/task:0"
  std::shared_ptr<ControlClient> control;
  std::shared_ptr<PeerLink> link;
};

struct PeerOptions {
  std::string token;
  TlsFiles tls;
  std::string caller;  // how tasks name this process
  // A task that says nothing for so long while something waits for it is lost.
  Duration patience = std::chrono::seconds(20);
  std::shared_ptr<Copier> copier = nullptr;  // see PeerLink::Options
  // Once it is true, nobody is waited for any more.
  std::shared_ptr<std::atomic<bool>> given_up = nullptr;
};

// Reaches the task at `address`; waits for one that is not up yet, and says so
// in the log. `expected` is its name, or "" for whoever is there.
Result<Peer> reach(const std::string& address, const std::string& expected,
                   const PeerOptions& options, Deadline deadline);

// Thread-safe.
class Peers {
 public:
  Peers(ClusterSpec cluster, PeerOptions options)
      : cluster_(std::move(cluster)), options_(std::move(options)) {
    options_.given_up = std::make_shared<std::atomic<bool>>(false);
  }

  // Waits for the task until the deadline.
  Result<Peer> connect(const TaskName& task, Deadline deadline);
  // Of a task that was reached; never waits.
  Result<std::shared_ptr<PeerLink>> link(const TaskName& task) const;
  // Ends the waits, now and later.
  void give_up() { *options_.given_up = true; }
  // Breaks all links, whoever else has them.
  void close(const Status& why);

 private:
  const ClusterSpec cluster_;
  PeerOptions options_;  // fixed once it is made
  mutable Mutex mutex_;
  std::map<TaskName, Peer> peers_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
