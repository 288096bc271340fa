// RemoteSession: a session whose master is in another process.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/cluster/peers.h"
#include "rondo/cluster/session_call.h"
#include "rondo/cluster/session_options.h"
#include "rondo/runtime/session.h"
#include "rondo/runtime/session_impl.h"

namespace rondo {

// Sends the master what the graph has grown by before each run. Any thread; the
// graph grows by one.
class RemoteSession final : public Session::Impl {
 public:
  static Result<std::unique_ptr<RemoteSession>> open(
      Graph& of, const std::string& address, const PeerOptions& peer,
      const ClusterSessionOptions& options, Deadline deadline);
  ~RemoteSession() override;

  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Node*>& targets,
                                  const RunOptions& options) override;
  Result<std::string> explain_placement(
      const std::vector<Value>& fetches, const std::vector<Value>& feeds,
      const std::vector<Node*>& targets) override;
  void close() override;
  // Throws: what is kept between runs is elsewhere.
  Resources& resources() override;

 private:
  RemoteSession(Graph& of, Peer master, SessionInfo info)
      : Impl(of, std::move(info.devices)),
        master_(std::move(master)),
        session_(info.session) {}
  Status extend(Deadline deadline);
  // Without feeds and options.
  SessionCall call_of(const std::vector<Value>& fetches,
                      const std::vector<Node*>& targets) const;

  const Peer master_;
  const uint64_t session_;
  std::atomic<int64_t> next_run_ = 1;
  std::atomic<bool> closed_ = false;
  Mutex mutex_;
  size_t sent_ RONDO_GUARDED_BY(mutex_) = 0;  // nodes that the master has
};

}  // namespace rondo
