// The handshake that opens every connection between processes of a job.
//
// It proves that both sides know the job's token without sending it, and says
// what the connection is for. All integers are little-endian; every message has
// a fixed size, so nothing is allocated on a stranger's word.
//
//   server -> client  Challenge: "RNDO" u16 version, u16 reserved, 16 B nonce S
//   client -> server  Hello:     "RNDO" u16 version, u16 purpose, 16 B nonce C,
//                                64 B subject, 32 B HMAC-SHA256(token,
//                                "client" | S | C | purpose | subject)
//   server -> client  Answer:    u32 verdict (0 welcome), u32 reserved,
//                                32 B HMAC-SHA256(token, "server" | C | S |
//                                verdict | subject); zeros unless the client
//                                has proven the token
//   client -> server  "+" after a welcome: a client that has given up meanwhile
//                     is not taken for a connection
//
// Without a token (empty) the HMAC key is empty, and a server accepts only
// peers whose address is a loopback address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

enum class Purpose : uint16_t {
  kStore = 1,    // a client of a TcpStore
  kControl = 2,  // a control link between two endpoints
  kStream = 3,   // a data stream between two endpoints
  kLink = 4,     // calls and tensors between two tasks of a cluster
};

// What the connection is about; the layout belongs to the purpose's owner.
using Subject = std::array<std::byte, 64>;

enum class Verdict : uint32_t {
  kWelcome = 0,
  kWrongToken = 1,
  kWrongVersion = 2,
  kNotHere = 3,       // token fine, but the subject names somebody else
  kLoopbackOnly = 4,  // no token and not a loopback peer
};

// The client's side, blocking until the deadline. The error says what the
// server answered and what to do (wrong token: RONDO_TOKEN differs between
// ranks).
Status handshake_as_client(int fd, const std::string& token, Purpose purpose,
                           const Subject& subject, Deadline deadline);

// Whether a server whose job has `token` (empty: none) talks to `peer` at all.
bool may_join(const std::string& token, const SocketAddress& peer);

// The server's side as a state machine for an event loop: never blocks, never
// reads past the handshake, and gives up at its deadline.
class ServerHandshake {
 public:
  // `accept` is asked once the token is proven: whether this purpose and
  // subject belong here.
  using Accept = std::function<Verdict(Purpose, const Subject&)>;
  ServerHandshake(Fd fd, const std::string& token, Duration time_allowed,
                  Accept accept);
  ~ServerHandshake();
  ServerHandshake(ServerHandshake&&) noexcept;
  ServerHandshake& operator=(ServerHandshake&&) noexcept;

  enum class State { kPending, kDone, kFailed };
  // Goes as far as it can without blocking.
  State advance();
  int fd() const;
  // What poll(2) should wait for while pending: POLLIN or POLLOUT.
  short events() const;
  const Deadline& deadline() const;

  // After kDone.
  Fd take();
  Purpose purpose() const;
  const Subject& subject() const;
  // After kFailed: why, with the peer's address.
  Status failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// 16 random bytes as 32 hexadecimal digits: a fresh job token.
std::string make_token();
// A random 64-bit number.
uint64_t random_u64();

}  // namespace rondo
