// Channel: ordered bytes between this rank and one peer, in both directions.
//
// A channel has one or more streams each way; each stream keeps its order.
// Nothing blocks: a call moves what can be moved now. Not thread-safe; whoever
// runs an operation uses it.
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

class Channel {
 public:
  virtual ~Channel() = default;

  // Where there are several, stream 0 is made for short messages and the others
  // for long ones.
  virtual int streams() const = 0;

  // Sends of the bytes of `pieces` (at most two: header, payload) what fits
  // now. Returns the number of bytes taken, or -1 when the channel is broken:
  // see failure().
  virtual ssize_t send(int stream, std::span<const iovec> pieces) = 0;
  // Receives into `pieces` what is there now, never more.
  virtual ssize_t recv(int stream, std::span<const iovec> pieces) = 0;

  // Channels in memory can show what has arrived where it lies: a non-empty
  // prefix of it, empty when nothing has. consume() gives it back.
  virtual bool can_peek() const { return false; }
  virtual std::span<const char> peek(int /*stream*/) { return {}; }
  virtual void consume(int /*stream*/, size_t /*bytes*/) {}

  // Where there are several streams: copies the first bytes that wait on
  // `stream` and leaves them there. False when fewer than `to` holds have come.
  virtual bool preview(int /*stream*/, std::span<char> /*to*/) { return false; }

  // Said after the last byte of a message on its stream. Memory channels round
  // up to a cache line here, so that no element straddles the ring's end.
  virtual void end_send(int /*stream*/) {}
  virtual void end_recv(int /*stream*/) {}

  // Adds to `fds` what to poll for before send or recv on `stream` can go on.
  // False: the channel is in memory, and its peer rings this rank's doorbell.
  virtual bool poll_for_send(int stream, std::vector<pollfd>& fds) const = 0;
  virtual bool poll_for_recv(int stream, std::vector<pollfd>& fds) const = 0;

  // Whether send or recv on `stream` will itself report that the peer has
  // closed its end (a connected socket does). If not, somebody else has to say
  // so.
  virtual bool reports_close(int /*stream*/, bool /*sends*/) const {
    return false;
  }

  // Why send or recv returned -1.
  virtual Status failure() const = 0;
};

}  // namespace rondo
