// ControlLink: the small messages that two endpoints send each other beside the
// data: set-up, questions and answers about a stuck operation, failures, good-
// byes. A frame is a fixed header and at most kMaxControlBytes of payload.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "rondo/base/mutex.h"
#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

enum class ControlType : uint32_t {
  kExchange = 1,  // a part of Endpoint::exchange; argument: the round
  kAbort = 2,     // a failure decided by the sender; argument: its code
  kQuery = 3,     // what are you doing? argument: the question's number
  kReply = 4,     // the answer; argument: the question's number
  kLeave = 5,     // the sender has closed this group
  kGoodbye = 6,   // the sender's endpoint closes
};

struct ControlFrame {
  ControlType type = ControlType::kGoodbye;
  uint64_t group = 0;
  uint64_t argument = 0;
  std::string payload;
};

inline constexpr size_t kMaxControlBytes = 1 << 20;

// Sending is thread-safe; receiving is for one thread.
class ControlLink {
 public:
  explicit ControlLink(Fd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  // Waits up to a second for room; a link that stays full counts as lost.
  Status send(const ControlFrame& frame);
  // Reads what is there and hands every whole frame to `sink`. An error when
  // the peer closed or sent nonsense.
  Status receive(const std::function<void(ControlFrame)>& sink);

 private:
  Fd fd_;
  Mutex send_mutex_;    // held while a frame goes out
  std::string buffer_;  // the receiver's: bytes of a frame not yet whole
};

}  // namespace rondo
