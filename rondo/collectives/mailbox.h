// Mailbox: messages between the ranks of a communicator, matched by source and
// tag.
//
// Unlike Communicator::send and recv, which run in the order of their calls,
// everything here is under way at once: a receive may be posted long before
// the message is sent, and collectives of the communicator do not wait for it.
// Messages of one sender with one tag are received in the order in which they
// were sent. Short messages leave at once; long ones when the receiver has
// posted a place for them.
//
// A message whose dtype or count is not what its receiver expects fails the
// mailbox on every rank (kMismatch), as does a rank that dies. A time-out fails
// only its message, and the receive that asks for what its sender gave up,
// unless it comes while a long message is travelling. Any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/collectives/communicator.h"

namespace rondo {

class RONDO_API Mailbox {
 public:
  static constexpr int kAnySource = -1;

  // How a message ended, and the rank at its other end. Called once, on the
  // posting thread or the mailbox's, which must not be kept waiting.
  using Done = std::function<void(const Status& status, int peer)>;

  // Which message: from or to whom, which tag, and for how long to wait.
  struct Envelope {
    int peer = kAnySource;
    int64_t tag = 0;
    Duration timeout{};
  };

  // Collective over the ranks of `comm`; the mailbox may outlive it.
  static Result<std::shared_ptr<Mailbox>> open(Communicator& comm);
  // What is still under way ends with kCancelled. May be called in a callback.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;

  // The memory must stay until `done` is called.
  void send(ConstView from, const Envelope& to, Done done);
  // From `from.peer`, or whoever sends first: kAnySource.
  void recv(View into, const Envelope& from, Done done);
  // Ends the mailbox on every rank; what is under way ends with `reason`.
  void abort(const std::string& reason);

 private:
  class Impl;
  explicit Mailbox(std::shared_ptr<Impl> impl);
  // Shared with its thread, and with calls that go on: a callback may let the
  // mailbox go.
  std::shared_ptr<Impl> impl_;
};

}  // namespace rondo
