#include "rondo/transport/acceptor.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rondo/base/log.h"

namespace rondo {
namespace {

constexpr double kHandshakeSeconds = 10;
// A stranger that holds connections open must not exhaust the descriptors, of
// which a process has 1024 by default, nor keep others out.
constexpr size_t kMaxPendingHandshakes = 128;
constexpr Duration kPause = std::chrono::milliseconds(100);
// How often the deadlines of handshakes are looked at.
constexpr int kHandshakePollMs = 250;

}  // namespace

Status Acceptor::listen(const std::vector<Interface>& interfaces,
                        PortRange ports, std::string token) {
  token_ = std::move(token);
  Status failure;
  for (const Interface& interface : interfaces) {
    auto fd = listen_on(interface.address, ports);
    if (!fd.ok()) {
      failure = fd.status();
      continue;
    }
    RONDO_ASSIGN_OR_RETURN(const SocketAddress address,
                           local_address(fd->get()));
    addresses_.push_back(address);
    listeners_.push_back(std::move(*fd));
  }
  if (listeners_.empty()) return failure.with_context("cannot listen");
  return {};
}

int Acceptor::add_to_poll(std::vector<pollfd>& fds, int cap_ms) const {
  const bool open = paused_.passed();
  for (const Fd& listener : listeners_)
    fds.push_back({open ? listener.get() : -1, POLLIN, 0});
  for (const ServerHandshake& handshake : pending_)
    fds.push_back({handshake.fd(), handshake.events(), 0});
  if (!pending_.empty()) cap_ms = std::min(cap_ms, kHandshakePollMs);
  return open ? cap_ms : paused_.poll_ms(cap_ms);
}

void Acceptor::serve(std::span<const pollfd> fds, const Admit& admit) {
  std::erase_if(pending_, [&](ServerHandshake& handshake) {
    switch (handshake.advance()) {
      case ServerHandshake::State::kPending: return false;
      case ServerHandshake::State::kDone: admit(handshake); return true;
      case ServerHandshake::State::kFailed:
        log(LogLevel::kInfo, "turned a connection away: {}",
            handshake.failure().message());
        return true;
    }
    return true;
  });
  for (size_t i = 0; i < listeners_.size(); ++i)
    if (fds[i].revents != 0) accept_on(listeners_[i].get());
}

void Acceptor::accept_on(int listener) {
  for (;;) {
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      const int err = errno;
      if (err != EMFILE && err != ENFILE && err != ENOBUFS && err != ENOMEM)
        return;
      paused_ = Deadline(kPause);
      if (!std::exchange(complained_, true))
        log(LogLevel::kWarning, "{}",
            errno_error(Code::kResource, err,
                        "cannot accept a connection (raise ulimit -n); trying "
                        "again until it works")
                .message());
      return;
    }
    complained_ = false;
    // A rank's handshake takes a moment: the oldest is the likeliest stranger.
    if (pending_.size() >= kMaxPendingHandshakes)
      pending_.erase(pending_.begin());
    pending_.emplace_back(std::move(fd), token_, seconds(kHandshakeSeconds),
                          accept_);
    pending_.back().advance();
  }
}

}  // namespace rondo
