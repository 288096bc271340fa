// Acceptor: the sockets on which an endpoint listens, and the connections whose
// handshake is not over. Belongs to one thread at a time; never blocks.
#pragma once

#include <poll.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/transport/handshake.h"
#include "rondo/transport/interfaces.h"
#include "rondo/transport/socket.h"

namespace rondo {

class Acceptor {
 public:
  // Listens on a port of `ports` of each interface, and lets in who knows
  // `token`. An error when it could listen on none.
  Status listen(const std::vector<Interface>& interfaces, PortRange ports,
                std::string token);
  const std::vector<SocketAddress>& addresses() const { return addresses_; }
  // Asked about every connection that has proven the token; set before any
  // comes.
  void set_accept(ServerHandshake::Accept accept) {
    accept_ = std::move(accept);
  }

  // Adds to `fds` what to poll for; returns for how many milliseconds at most,
  // up to `cap_ms`.
  int add_to_poll(std::vector<pollfd>& fds, int cap_ms) const;
  // Goes as far as it can, and hands each finished handshake to `admit`. `fds`
  // are those that add_to_poll() added, after the poll.
  using Admit = std::function<void(ServerHandshake&)>;
  void serve(std::span<const pollfd> fds, const Admit& admit);

 private:
  void accept_on(int listener);

  std::string token_;
  std::vector<Fd> listeners_;
  std::vector<SocketAddress> addresses_;
  ServerHandshake::Accept accept_;
  std::vector<ServerHandshake> pending_;
  // Accepting failed for want of descriptors or memory: listeners are not
  // looked at until then, since they would stay readable and the thread spin.
  Deadline paused_{Duration::zero()};
  bool complained_ = false;  // and nothing was accepted since
};

}  // namespace rondo
