// Endpoint: one rank's presence on the network: the sockets it listens on, a
// control link to every other rank, and the thread that serves them.
//
// The thread accepts and checks connections, notices when a peer is gone, and
// answers questions about this rank while its owner computes or waits. Groups
// (communicators) register a GroupHandler to hear of what concerns them.
// Thread-safe. Closing says goodbye to the peers, so that an orderly end is not
// taken for a loss.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/base/status.h"
#include "rondo/transport/acceptor.h"
#include "rondo/transport/arrivals.h"
#include "rondo/transport/card.h"
#include "rondo/transport/control_link.h"
#include "rondo/transport/handshake.h"
#include "rondo/transport/socket.h"

namespace rondo {

// What a group hears from its endpoint, on the endpoint's thread; each call
// must return at once. `peer` is a rank of the endpoint's world.
class GroupHandler {
 public:
  virtual ~GroupHandler() = default;
  virtual void on_lost(int peer, const Status& why) = 0;
  virtual void on_left(int peer) = 0;
  virtual void on_abort(int peer, Status failure) = 0;
  // A data stream for this group has arrived.
  virtual void on_stream() = 0;
  // What this rank is doing in the group, for a peer that asks.
  virtual std::string report() = 0;
};

struct EndpointOptions {
  std::string interface;  // see InterfaceFilter
  PortRange ports;
  std::string token;
};

class Endpoint {
 public:
  // Listens; does not connect yet.
  static Result<std::shared_ptr<Endpoint>> start(
      const EndpointOptions& options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;

  const Card& card() const { return card_; }
  // Makes the control links; cards[r] is rank r's, cards[rank] this one's.
  Status connect(int rank, std::vector<Card> cards, Deadline deadline);
  // -1 and 0 before connect().
  int rank() const { return roster().rank; }
  int size() const { return static_cast<int>(roster().cards.size()); }
  const Card& card_of(int peer) const {
    return roster().cards[static_cast<size_t>(peer)];
  }
  // "rank 3 (node7, pid 81233)".
  std::string describe(int peer) const;

  // Called with the endpoint's lock held: asks it for names and nothing else.
  using GiveUp = std::function<Status(int peer)>;

  void attach(uint64_t group, GroupHandler* handler);
  // When this returns no call of the handler is running or will come.
  void detach(uint64_t group);
  void tell(int peer, const ControlFrame& frame);

  // Gives `mine` to every one of `members` (ranks of this world, this one among
  // them) and returns theirs in the same order. `round` tells apart exchanges
  // of one group. The error names who did not answer, or who is lost. `give_up`
  // is asked about every silent peer now and then: an error ends the wait.
  Result<std::vector<std::string>> exchange(uint64_t group, uint64_t round,
                                            std::span<const int> members,
                                            const std::string& mine,
                                            Deadline deadline,
                                            const GiveUp& give_up = {});
  // Asks `peers` what they are doing in `group`; an answer is missing where
  // none came within `patience`.
  std::vector<std::optional<std::string>> query(uint64_t group,
                                                std::span<const int> peers,
                                                Duration patience);

  // Opens a data stream to `peer`, number `index` of `group`.
  Result<Fd> open_stream(int peer, uint64_t group, int index,
                         Deadline deadline);
  // The stream that `peer` opened, once it has arrived.
  std::optional<Fd> take_stream(int peer, uint64_t group, int index);
  // Whether the connection to `peer` stays within this machine's network stack.
  // Both ends say the same.
  bool by_loopback(int peer) const;
  // Why `peer` is gone, or ok.
  Status lost(int peer) const;
  bool left(int peer) const;

 private:
  // Longest single wait; the loops around it look at the deadline again.
  static constexpr Duration kWaitSlice = std::chrono::milliseconds(100);

  // Who is who.
  struct Roster {
    int rank = -1;
    std::vector<Card> cards;
  };
  struct Peer {
    std::shared_ptr<ControlLink> link;
    uint64_t nonce = 0;  // who the link says it leads to
    Status lost;
    bool left = false;
  };

  Endpoint() = default;
  const Roster& roster() const {
    return *roster_.load(std::memory_order_acquire);
  }
  Status listen(const EndpointOptions& options);
  Result<Fd> reach(int peer, Purpose purpose, const Subject& subject,
                   Deadline deadline) const;
  Status missing_links() const RONDO_REQUIRES(mutex_);
  std::shared_ptr<ControlLink> link_to(int peer) const;
  void wake();
  // On the thread.
  void serve();
  void admit(ServerHandshake& done);
  void handle(int peer, ControlFrame frame);
  void lose(int peer, const Status& why);

  // Fixed once listen() has returned.
  std::string token_;
  Card card_;
  Fd wake_;  // eventfd that ends the thread's poll

  // Set once, by connect(), and never changed; links may come, and be lost,
  // before that.
  const Roster nobody_{};
  std::unique_ptr<const Roster> everybody_;
  std::atomic<const Roster*> roster_{&nobody_};

  // Held while a handler is called.
  Mutex handlers_mutex_ RONDO_ACQUIRED_BEFORE(mutex_);
  std::map<uint64_t, GroupHandler*> handlers_ RONDO_GUARDED_BY(handlers_mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  bool closing_ RONDO_GUARDED_BY(mutex_) = false;
  std::map<int, Peer> peers_ RONDO_GUARDED_BY(mutex_);
  Arrivals arrivals_ RONDO_GUARDED_BY(mutex_);
  std::map<std::pair<uint64_t, int>, std::string> replies_
      RONDO_GUARDED_BY(mutex_);  // by question and peer
  uint64_t next_question_ RONDO_GUARDED_BY(mutex_) = 1;
  std::set<uint64_t> open_questions_ RONDO_GUARDED_BY(mutex_);

  Acceptor acceptor_;  // the thread's, once it runs
  std::thread thread_;
};

}  // namespace rondo
