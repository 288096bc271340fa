// What a client that has proven the token sends to the store, and what a
// stranger does instead of the handshake.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rondo/rendezvous/tcp_store.h"
#include "rondo/transport/handshake.h"

using namespace rondo;

namespace {

const std::string kToken = "secret";

struct Served {
  Served()
      : server(TcpStoreServer::start(
                   SocketAddress::parse("127.0.0.1:0").value(), {}, kToken)
                   .value()) {}
  std::unique_ptr<TcpStoreServer> server;
};

// Until the other side has said all that it says.
void drain(int fd) {
  char bytes[4096];
  pollfd readable{fd, POLLIN, 0};
  while (::poll(&readable, 1, -1) > 0 && ::recv(fd, bytes, sizeof bytes, 0) > 0)
    continue;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static Served& store = *new Served;  // serves for as long as the fuzzer runs
  if (bytes == 0) return 0;
  const bool stranger = data[0] == 0;
  const Deadline deadline(std::chrono::seconds(10));
  auto fd = connect_to(store.server->address(), deadline);
  if (!fd.ok()) std::abort();
  // No port is kept for a connection that is over.
  const linger at_once{1, 0};
  ::setsockopt(fd->get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (!stranger &&
      !handshake_as_client(fd->get(), kToken, Purpose::kStore, {}, deadline)
           .ok())
    std::abort();
  (void)::send(fd->get(), data + 1, bytes - 1, MSG_NOSIGNAL);
  ::shutdown(fd->get(), SHUT_WR);
  drain(fd->get());
  return 0;
}
