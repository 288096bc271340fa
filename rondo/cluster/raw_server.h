// RawServer: the other end of a link, for tests that say byte by byte what it
// does.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "rondo/cluster/link.h"
#include "rondo/transport/handshake.h"

namespace rondo {

// Handshakes, and leaves the rest to `then`.
class RawServer {
 public:
  explicit RawServer(std::function<void(const Fd&)> then)
      : listener_(
            listen_on(SocketAddress::parse("127.0.0.1:0").value(), {}).value()),
        thread_([this, then = std::move(then)] { then(accept()); }) {}
  ~RawServer() { thread_.join(); }
  RawServer(const RawServer&) = delete;
  LinkTarget target() const {
    return {"/job:ps/task:0", 1, {local_address(listener_.get()).value()}};
  }

 private:
  Fd accept() const {
    pollfd p{listener_.get(), POLLIN, 0};
    ::poll(&p, 1, -1);
    ServerHandshake handshake(
        Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK)), "",
        seconds(30), [](Purpose, const Subject&) { return Verdict::kWelcome; });
    while (handshake.advance() == ServerHandshake::State::kPending) {
      pollfd q{handshake.fd(), handshake.events(), 0};
      ::poll(&q, 1, -1);
    }
    return handshake.take();
  }

  const Fd listener_;
  std::thread thread_;
};

}  // namespace rondo
