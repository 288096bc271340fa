// FaultyWire: bad luck for the sockets that carry a rank's data, in tests.
//
// The test's executable has a sendmsg and a recvmsg of its own in front of the
// C library's; a TcpChannel moves all its bytes through these two. While a
// FaultyWire lives, those of its thread do what it says, to real sockets: the
// peer meets a real end of stream or reset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rondo/base/clock.h"

namespace rondo {

struct Faults {
  // The most bytes that each call moves, in turn; empty: as many as there are.
  std::vector<size_t> pieces = {};
  // At least so long from one call that moves something to the next.
  Duration pace = {};
  // After so many bytes, sent and received, something happens to the socket
  // whose turn it is.
  enum class Then {
    kNothing,
    kDrop,   // it is closed in good order
    kReset,  // it is reset
    kStall,  // nothing moves on it any more, for `stall`
  } then = Then::kNothing;
  int64_t after = 0;
  Duration stall = std::chrono::hours(1);
};

class FaultyWire {
 public:
  explicit FaultyWire(Faults faults);
  ~FaultyWire();
  FaultyWire(const FaultyWire&) = delete;

  // Whether the fault has happened.
  bool struck() const { return struck_; }

  // For the two functions: how many bytes `fd` may move now, 0 being EAGAIN,
  // and how many it has moved.
  size_t allowance(int fd);
  void moved(size_t bytes);

 private:
  const Faults faults_;
  size_t turn_ = 0;
  int64_t moved_ = 0;
  Deadline paced_until_{Duration::zero()};
  bool struck_ = false;
  int stalled_fd_ = -1;
  Deadline stalled_until_{Duration::zero()};
};

}  // namespace rondo
