// The store over TCP: a server (in the launcher, or in rank 0) and its clients.
// Frames are small and bounded; a connection opens with Rondo's handshake, so a
// stranger is turned away and the job goes on.
#pragma once

#include <memory>
#include <string>

#include "rondo/rendezvous/store.h"
#include "rondo/transport/socket.h"

namespace rondo {

class RONDO_API TcpStoreServer {
 public:
  // Serves on `address` until destroyed, from a thread of its own.
  static Result<std::unique_ptr<TcpStoreServer>> start(
      const SocketAddress& address, PortRange ports, const std::string& token);
  virtual ~TcpStoreServer() = default;
  virtual SocketAddress address() const = 0;
  // Waits until no client is connected; false when the deadline comes first.
  virtual bool wait_idle(Deadline deadline) = 0;
};

// Connects, retrying until the deadline (the server may start later); the error
// says whether the name did not resolve, the port refused, or nobody answered.
RONDO_API Result<std::shared_ptr<Store>> connect_tcp_store(
    const std::string& host, int port, const std::string& token,
    Deadline deadline);

}  // namespace rondo
