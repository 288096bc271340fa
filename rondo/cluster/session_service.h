// SessionService: the sessions of clients in other processes, which a task's
// master runs for them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "rondo/base/mutex.h"
#include "rondo/cluster/control.h"
#include "rondo/cluster/link.h"
#include "rondo/cluster/session_options.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/runtime/run_threads.h"
#include "rondo/runtime/session.h"

namespace rondo {

// A session is kept while a link of its client's is attached to it. Once there
// is none, the client has so much time to come back (the lease), and half a
// minute at least to come at all; then its session is closed. Thread-safe.
class SessionService {
 public:
  using Open = std::function<Result<std::unique_ptr<Session>>(
      Graph& graph, const ClusterSessionOptions& options, Deadline deadline)>;
  SessionService(Open open, RunThreads& threads, Duration lease);
  ~SessionService();

  Result<SessionInfo> create(const ClusterSessionOptions& options,
                             Deadline deadline);
  Status close(uint64_t session);
  void close_all();
  // False: the method is not of a master, and nothing was done.
  bool serve(uint64_t link, LinkCall& call, LinkServer::Answer& answer);
  void gone(uint64_t link);
  int64_t size() const;

 private:
  struct Entry;
  class Running;
  std::shared_ptr<Entry> find(uint64_t session) const;
  Status attach(uint64_t link, const LinkCall& call);
  Result<LinkAnswer> extend(const LinkCall& call);
  Result<LinkAnswer> run(const LinkCall& call);
  Result<LinkAnswer> explain(const LinkCall& call);
  Status cancel(const LinkCall& call);
  void sweep();

  const Open open_;
  RunThreads& threads_;
  const Duration lease_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool closing_ RONDO_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::shared_ptr<Entry>> sessions_ RONDO_GUARDED_BY(mutex_);
  std::thread sweeper_;
};

}  // namespace rondo
