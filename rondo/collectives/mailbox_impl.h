// Mailbox::Impl: the messages under way, the lines they travel on, and the
// thread that moves them.
//
// The thread starts with the first message and sleeps while there is none;
// what peers send meanwhile waits in the channels. Whoever posts a message
// first tries to move it itself, so that what can end at once does.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rondo/collectives/group.h"
#include "rondo/collectives/mailbox.h"
#include "rondo/collectives/message_line.h"

namespace rondo {

class Mailbox::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Communicator owner, Group& group);

  // Ends what is under way, and the thread.
  void close();

  void post_send(ConstView from, const Envelope& to, Done done);
  void post_recv(View into, const Envelope& from, Done done);
  void abort(const std::string& reason);

 private:
  // One message of this rank's.
  struct Message {
    bool sends = false;
    int peer = kAnySource;  // of a receive: who sent it, once that is known
    int64_t tag = 0;
    void* data = nullptr;
    int64_t count = 0;
    DType dtype = DType::kF32;
    uint64_t id = 0;
    bool begun = false;  // it can no longer be given up alone
    Clock::time_point deadline;
    Duration timeout{};
    Done done;
  };
  using MessagePtr = std::shared_ptr<Message>;

  // What came before anybody asked for it: a short message or an offer, or one
  // that was withdrawn.
  struct Unexpected {
    int peer = 0;
    FrameHeader header;
    std::vector<char> payload;
  };

  struct Peer {
    explicit Peer(Channel* channel) : line(channel) {}
    MessageLine line;
    std::map<uint64_t, MessagePtr> offered;   // sends that are not accepted
    std::map<uint64_t, MessagePtr> expected;  // receives that are
    MessagePtr arriving;                      // a short one, into its place
    std::unique_ptr<Unexpected> storing;      // or aside
    bool gone = false;
    std::optional<Deadline> patience;  // since it was seen to leave
  };

  using Lock = std::unique_lock<std::mutex>;

  bool is_peer(int rank) const {
    return rank >= 0 && rank < group_.size() && rank != group_.rank();
  }
  Peer& peer(int rank) { return *peers_[static_cast<size_t>(rank)]; }
  MessagePtr make(bool sends, View view, const Envelope& envelope, Done done);
  Status check_peer(const Message& message) const;
  std::string describe(const Message& message) const;
  Status gone_error(const Message& message, int rank) const;
  bool nobody_left() const;

  // Each with the lock held.
  void begin(const MessagePtr& message, Lock& lock);
  void start_send(const MessagePtr& message);
  void start_recv(const MessagePtr& message);
  Status check_fit(const Message& message, int from, const FrameHeader& header);
  Status accept(const MessagePtr& message, int from, const FrameHeader& header);
  MessagePtr take_posted(int from, int64_t tag);
  Status withdrawn_error(const Message& message) const;
  void withdrawn(int from, uint64_t id);
  void withdraw(const MessagePtr& message);
  Result<void*> place(int from, const FrameHeader& header);
  Status arrived(int from, const FrameHeader& header);
  bool idle() const;
  bool interested(int rank) const;
  bool pass();
  bool said_all(int rank);
  void move(int rank, bool& moved);
  void lost_line(int rank, const Status& cause);
  void peer_gone(int rank);
  void expire();
  void give_up(const MessagePtr& message);
  void finish(const MessagePtr& message, Status status);
  void finish_all(const Status& status);
  void call_finished(Lock& lock);

  void serve();
  void sleep(Lock& lock);

  Communicator owner_;  // keeps group_
  Group& group_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; none for self
  std::list<MessagePtr> messages_;            // under way, all of them
  std::list<MessagePtr> posted_;              // receives without a message
  std::deque<Unexpected> unexpected_;
  std::vector<std::pair<MessagePtr, Status>> finished_;  // to be told
  uint64_t next_id_ = 1;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace rondo
