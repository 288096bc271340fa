// PeerLink: how a task, or a client, calls another task and gets tensors from
// it. LinkServer: the other end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/cluster/connection.h"
#include "rondo/transport/acceptor.h"

namespace rondo {

// What a call carries, and what its answer does.
struct LinkCall {
  uint32_t method = 0;
  std::string body;
  std::vector<Tensor> tensors;
  // The caller's: memory for the answer's tensors, in order. It is written to
  // until `done` is called.
  std::vector<Tensor> into = {};
};
struct LinkAnswer {
  std::string body;
  std::vector<Tensor> tensors;
};

// Where a LinkServer listens, and which one it is: another start of the same
// task has another number.
struct LinkTarget {
  std::string name;  // as messages name it
  uint64_t incarnation = 0;
  std::vector<SocketAddress> addresses;
};

// Any number of calls may be under way. Thread-safe.
class PeerLink {
 public:
  struct Options {
    std::string token;
    std::string caller;  // how the other side names this one
    Duration patience = std::chrono::seconds(20);
    bool shares_memory = true;
    std::shared_ptr<Copier> copier = nullptr;  // see Incoming::Options
  };
  // An error when nobody is there, or somebody else.
  static Result<std::shared_ptr<PeerLink>> connect(const LinkTarget& target,
                                                   const Options& options,
                                                   Deadline deadline);
  ~PeerLink();
  PeerLink(const PeerLink&) = delete;

  using Done = std::function<void(Result<LinkAnswer>)>;
  // Calls `done` once: on the link's thread, or that of another call that
  // waits, or before this returns where the link is broken.
  void call(LinkCall what, Done done);
  // Waits for the answer.
  Result<LinkAnswer> call(LinkCall what, Deadline deadline);
  // Breaks it: who waits for an answer gets `why`, and so does every later
  // call.
  void close(const Status& why) { connection_->close(why); }
  // Why it is broken, or ok.
  Status failure() const;
  uint64_t incarnation() const { return incarnation_; }
  bool mapped() const { return connection_->mapped(); }

 private:
  // Outlives the link as long as its connection's thread.
  struct State {
    Mutex mutex;
    Status failure RONDO_GUARDED_BY(mutex);
    uint64_t next RONDO_GUARDED_BY(mutex) = 1;
    struct Waiting {
      Done done;
      std::vector<Tensor> into;
    };
    std::map<uint64_t, Waiting> waiting RONDO_GUARDED_BY(mutex);
    std::weak_ptr<Connection> connection RONDO_GUARDED_BY(mutex);
    void answer(wire::Message message);
    std::vector<Tensor> into(uint64_t id);
    void close(const Status& why);
  };
  PeerLink() = default;
  // Whether no other call waits.
  bool start(LinkCall what, Done done);

  uint64_t incarnation_ = 0;
  std::shared_ptr<State> state_;
  std::shared_ptr<Connection> connection_;
};

// Accepts links and hands their calls to a function.
class LinkServer {
 public:
  using Answer = std::function<void(Result<LinkAnswer>)>;
  // On the link's thread, and must return at once; `answer` may be called from
  // any thread, later, once. `link` numbers the link.
  using Serve =
      std::function<void(uint64_t link, LinkCall call, Answer answer)>;
  // A link has ended; no call of it comes any more.
  using Gone = std::function<void(uint64_t link)>;
  struct Options {
    std::vector<SocketAddress> addresses;  // to listen on
    PortRange ports;
    std::string token;
    uint64_t incarnation = 0;
    bool shares_memory = true;
    bool borrows = false;                      // see Incoming::Options
    std::shared_ptr<Copier> copier = nullptr;  // the same
  };
  static Result<std::unique_ptr<LinkServer>> start(Options options, Serve serve,
                                                   Gone gone);
  ~LinkServer();
  const std::vector<SocketAddress>& addresses() const {
    return acceptor_.addresses();
  }
  // Ends all links and takes no more; serve and gone are not called after.
  void stop();

 private:
  LinkServer(Options options, Serve serve, Gone gone);
  void run();
  void admit(ServerHandshake& done);

  const Options options_;
  const Serve serve_;
  const Gone gone_;
  const Fd wake_;
  Acceptor acceptor_;  // the thread's, once it runs

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ RONDO_GUARDED_BY(mutex_) = false;
  uint64_t next_ RONDO_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, std::shared_ptr<Connection>> links_
      RONDO_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace rondo
