// ServerLink: a worker's way to one parameter server, which outlives the
// connection and the server's process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "rondo/base/mutex.h"
#include "rondo/cluster/link.h"
#include "rondo/ps/kv_messages.h"
#include "rondo/rendezvous/store.h"

namespace rondo {

// Calls that have no answer when the connection breaks are made again, in
// their order, on the next one; servers know pushes that they have seen. A
// server that comes back without what it knew fails all calls. Thread-safe.
class ServerLink {
 public:
  struct Options {
    int server = 0;
    kv::Hello hello;
    std::shared_ptr<Store> store;
    std::string token;
    bool shares_memory = true;
    // A server that cannot be reached for so long is lost, and all calls fail.
    Duration patience = Duration::max();
    // Bytes of tensors in a flow's calls that have no answer yet, above which
    // further ones wait; 0: any number. One call may always be under way.
    size_t most_under_way = 0;
  };
  using Done = std::function<void(Result<LinkAnswer>)>;
  static constexpr int64_t kNoFlow = -1;  // of calls that never wait

  explicit ServerLink(Options options);
  // Fails what is under way.
  ~ServerLink();
  ServerLink(const ServerLink&) = delete;

  Status connect(Deadline deadline);
  // `done` is called once, on a thread of this object, at the deadline at the
  // latest but for a moment; or 5 s later where the server cannot be reached
  // and an attempt was under way that began before the call. Calls of one flow
  // go in their order; others do not wait for them.
  void call(const LinkCall& what, Deadline deadline, const Done& done,
            int64_t flow = kNoFlow);

 private:
  struct Open {
    LinkCall call;
    Deadline deadline = Deadline::never();  // while it cannot be reached
    Deadline last = Deadline::never();      // else: it answers in time itself
    Done done;
    int64_t flow = kNoFlow;
    size_t bytes = 0;  // of its tensors
    bool sent = true;
  };
  struct Flow {
    size_t under_way = 0;  // bytes of those sent
    // Those that wait for answers to others; some may be over.
    std::deque<uint64_t> waiting;
  };

  // Whether a call waits for others of its flow.
  bool has_to_wait(const Open& one) RONDO_REQUIRES(mutex_);
  // Whether so many bytes more may be under way.
  bool has_room(const Flow& flow, size_t bytes) const RONDO_REQUIRES(mutex_);
  // Sends what has waited for answers, or all that waits.
  void send_waiting(int64_t flow, bool all = false) RONDO_REQUIRES(order_);
  void send_all_waiting() RONDO_REQUIRES(order_);
  Result<std::shared_ptr<PeerLink>> reach(Deadline deadline);
  void send(PeerLink& link, uint64_t generation, uint64_t number,
            const LinkCall& call);
  void answered(uint64_t generation, uint64_t number,
                Result<LinkAnswer> answer);
  std::shared_ptr<PeerLink> take_link() RONDO_REQUIRES(mutex_);
  // The thread's.
  void run();
  void reconnect();
  void expire();
  void fail_all(const Status& why);
  std::string name() const;

  const Options options_;

  // Held while calls are handed to a link, so that their order is kept.
  Mutex order_ RONDO_ACQUIRED_BEFORE(mutex_);
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ RONDO_GUARDED_BY(mutex_) = false;
  bool broken_ RONDO_GUARDED_BY(mutex_) = false;
  // A new connection is no return from that.
  bool left_ RONDO_GUARDED_BY(mutex_) = false;
  Status failure_ RONDO_GUARDED_BY(mutex_);  // for good
  Status trouble_ RONDO_GUARDED_BY(mutex_);  // why it cannot be reached now
  uint64_t history_ RONDO_GUARDED_BY(mutex_) = 0;
  uint64_t next_ RONDO_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Open> open_ RONDO_GUARDED_BY(mutex_);
  std::map<int64_t, Flow> flows_ RONDO_GUARDED_BY(mutex_);
  std::shared_ptr<PeerLink> link_ RONDO_GUARDED_BY(mutex_);
  uint64_t generation_ RONDO_GUARDED_BY(mutex_) = 0;  // of link_
  // While it cannot be reached: since when.
  std::optional<Clock::time_point> away_ RONDO_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace rondo
