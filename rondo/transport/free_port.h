// For tests whose servers are told beforehand where to listen.
#pragma once

#include <unistd.h>

#include "rondo/transport/socket.h"

namespace rondo {

// A port of the loopback address. It lies below those that the system gives to
// connections and to listeners that take any port, and tests that run at the
// same time begin their search elsewhere: so it stays free between one server
// of the test and the next.
inline int free_port() {
  constexpr int kLow = 15000;
  constexpr int kPorts = 17000;
  constexpr int kPortsOfATest = 61;
  static int next =
      static_cast<int>(::getpid()) * int64_t{kPortsOfATest} % kPorts;
  const auto host = SocketAddress::parse("127.0.0.1:0").value();
  while (true) {
    const int port = kLow + next;
    next = (next + 1) % kPorts;
    if (listen_on(host, {port, port}).ok()) return port;
  }
}

}  // namespace rondo
