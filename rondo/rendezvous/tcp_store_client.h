// connect_tcp_store for callers that have addresses instead of a name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rondo/rendezvous/store.h"
#include "rondo/transport/socket.h"

namespace rondo {

struct TcpStorePlace {
  std::string name;                      // "tcp://host:port", for messages
  std::vector<SocketAddress> addresses;  // tried in this order, again and again
  std::string token;
};

// Tries the addresses until the deadline; with `once`, each a single time. A
// refused token, another program on the port and another version are final.
Result<std::shared_ptr<Store>> connect_tcp_store(const TcpStorePlace& place,
                                                 Deadline deadline, bool once);

}  // namespace rondo
