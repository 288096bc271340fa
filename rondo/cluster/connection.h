// Connection: messages with tensors between two tasks, both ways, over one
// socket, and through the heaps where both are on one host.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/mutex.h"
#include "rondo/cluster/incoming.h"
#include "rondo/cluster/reader_rest.h"
#include "rondo/cluster/wire.h"
#include "rondo/transport/socket.h"

namespace rondo {

// Has a thread of its own, which reads, and writes what could not be written at
// once; threads that wait for an answer may do so in its place. Each side shows
// the other its heap; tensors that lie in a heap which the peer has mapped are
// copied once, by the receiver; others go through the socket straight from and
// into the tensors' memory. Thread-safe.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Options {
    std::string peer;  // how messages name it
    // A peer that says nothing for so long, and takes nothing of what is sent,
    // while this side waits for it, is taken for lost.
    Duration patience = std::chrono::seconds(20);
    bool pings = false;  // asks for a sign of life when it has been silent
    bool shares_memory = true;
    // As Incoming::Options say; `into` is called on the thread that reads.
    bool borrows = false;
    std::function<std::vector<Tensor>(uint64_t id)> into = {};
    std::shared_ptr<Copier> copier = nullptr;
  };
  // On the thread that reads; each must return at once.
  using OnMessage = std::function<void(wire::Message)>;
  using OnClosed = std::function<void(const Status&)>;

  static std::shared_ptr<Connection> start(Fd fd, Options options,
                                           OnMessage on_message,
                                           OnClosed on_closed);
  ~Connection();
  Connection(const Connection&) = delete;

  // Never waits. What cannot be sent is dropped: on_closed tells.
  void send(const wire::Message& message);
  // Whether this side waits for the peer, who then owes signs of life.
  void expect(bool something) { expects_ = something; }
  // For a caller, the only one, that waits: reads on its thread until
  // `is_there`, or the deadline. May return before. Where the deadline comes
  // within a frame, the connection's thread reads on.
  void read_until(const std::function<bool()>& is_there, Deadline deadline);
  // Somebody waits who does not read, or is not the only one.
  void read_for_others() { rest_.wake(); }
  // Ends the connection with `why`; on_closed is called before this returns,
  // but for a call from the thread that reads.
  void close(const Status& why);
  const std::string& peer() const { return options_.peer; }
  // Whether a message has come in part, and its rest is waited for.
  bool amid() const { return amid_; }
  // Whether the peer sees this process's tensors where they lie.
  bool mapped() const { return peer_maps_; }

 private:
  struct Outgoing {
    std::string front;
    std::vector<Tensor> tail;
    size_t sent = 0;  // bytes of front and tail
    size_t bytes = 0;
  };

  Connection(Fd fd, Options options, OnMessage on_message, OnClosed on_closed);
  void run();
  Status read_frames();
  // Reads until a frame is whole, and hands it on; returns before at `until`,
  // or when the connection is broken_.
  void read_frame(Deadline until) RONDO_REQUIRES(reading_);
  // Whether it is whole.
  Result<bool> fill_frame(Deadline until) RONDO_REQUIRES(reading_);
  void take(wire::Message message) RONDO_REQUIRES(reading_);
  void greet();
  void map_peer(std::string_view hello) RONDO_REQUIRES(reading_);
  // Reads what there is, at most so much, or waits for it; 0 when `until` comes
  // first. Sends meanwhile what waits to be sent.
  Result<size_t> read_some(std::span<char> to, Deadline until)
      RONDO_REQUIRES(reading_);
  // Until there may be something to read, or the deadline; whether there is.
  Result<bool> wait(Deadline deadline) RONDO_REQUIRES(reading_);
  Status look_for_life() RONDO_REQUIRES(reading_);
  // Sends what waits, as far as the peer takes it; whether some is left. An
  // error once the connection is to end.
  Result<bool> push() RONDO_REQUIRES(reading_);
  // Hands back what is sent whole, to be destroyed where the lock is not held:
  // the last of a borrowed tensor sends a message.
  Status flush(std::vector<Outgoing>& sent) RONDO_REQUIRES(mutex_);
  void wake() const;
  bool on_own_thread() const {
    return runs_on_.load() == std::this_thread::get_id();
  }

  const Options options_;
  const OnMessage on_message_;
  const OnClosed on_closed_;
  const Fd fd_;
  const Fd wake_;
  std::atomic<bool> expects_ = false;
  std::atomic<bool> peer_maps_ = false;
  std::atomic<bool> closing_ = false;
  std::atomic<bool> amid_ = false;
  std::atomic<std::thread::id> runs_on_;
  std::atomic<std::thread::id> read_by_;  // the caller that reads

  ReaderRest rest_;
  // Held by the thread that reads, all the time.
  Mutex reading_ RONDO_ACQUIRED_BEFORE(mutex_);
  Status broken_ RONDO_GUARDED_BY(reading_);  // as who read found
  Incoming incoming_ RONDO_GUARDED_BY(reading_);
  // Read, and not yet looked at.
  std::vector<char> buffer_ RONDO_GUARDED_BY(reading_);
  size_t begin_ RONDO_GUARDED_BY(reading_) = 0;
  size_t end_ RONDO_GUARDED_BY(reading_) = 0;
  Clock::time_point heard_ RONDO_GUARDED_BY(reading_);
  Clock::time_point pinged_ RONDO_GUARDED_BY(reading_);

  Mutex mutex_;
  CondVar over_;
  Status why_ RONDO_GUARDED_BY(mutex_);
  bool finished_ RONDO_GUARDED_BY(mutex_) = false;
  std::deque<Outgoing> outbox_ RONDO_GUARDED_BY(mutex_);
  uint64_t written_ RONDO_GUARDED_BY(mutex_) = 0;  // bytes
  // Tensors that the peer may be copying, by the frame that showed them.
  std::multimap<uint64_t, std::vector<Tensor>> shown_ RONDO_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace rondo
