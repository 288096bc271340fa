// What a peer that has proven the token sends on a link: it ends the connection
// at most.
#include <sys/socket.h>

#include <future>
#include <thread>

#include "rondo/cluster/connection.h"

using namespace rondo;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 0;
  const Fd peer(ends[1]);
  std::promise<void> closed;
  // Without the heaps: those that bytes could name are this process's own.
  const auto connection = Connection::start(
      Fd(ends[0]), {.peer = "the fuzzer", .shares_memory = false},
      [](const wire::Message& message) {
        for (const Tensor& tensor : message.tensors) (void)tensor.bytes();
      },
      [&](const Status&) { closed.set_value(); });
  // More than the socket holds is not sent; nobody waits for the peer.
  (void)::send(peer.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(peer.get(), SHUT_WR);
  closed.get_future().wait();
  // The thread still has what it told; once it has let go, the last holder here
  // joins it, so that nothing of this input is left when leaks are counted.
  while (connection.use_count() > 1) std::this_thread::yield();
  return 0;
}
