#include "rondo/transport/tcp/tcp_channel.h"

#include <sys/socket.h>

#include <cerrno>

namespace rondo {
namespace {

msghdr message_of(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return message;
}

}  // namespace

TcpChannel::TcpChannel(std::shared_ptr<Endpoint> endpoint, int peer,
                       uint64_t group, int streams, Duration connect_timeout)
    : endpoint_(std::move(endpoint)),
      peer_(peer),
      group_(group),
      connect_timeout_(connect_timeout),
      sockets_(static_cast<size_t>(streams)) {}

int TcpChannel::ready(int stream) {
  Fd& socket = sockets_[static_cast<size_t>(stream)];
  if (socket.valid()) return 1;
  if (endpoint_->rank() < peer_) {
    auto arrived = endpoint_->take_stream(peer_, group_, stream);
    if (!arrived) return 0;
    socket = std::move(*arrived);
    return 1;
  }
  auto opened = endpoint_->open_stream(peer_, group_, stream,
                                       Deadline(connect_timeout_));
  if (!opened.ok()) {
    failure_ = opened.status();
    return -1;
  }
  socket = std::move(*opened);
  return 1;
}

ssize_t TcpChannel::send(int stream, std::span<const iovec> pieces) {
  if (const int state = ready(stream); state <= 0) return state;
  const Fd& fd = sockets_[static_cast<size_t>(stream)];
  const msghdr message = message_of(pieces);
  const ssize_t n = sendmsg(fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0) return n;
  if (errno == EAGAIN || errno == EINTR) return 0;
  failure_ = errno_error(Code::kPeerLost, errno,
                         "sending to " + endpoint_->describe(peer_));
  return -1;
}

ssize_t TcpChannel::recv(int stream, std::span<const iovec> pieces) {
  if (const int state = ready(stream); state <= 0) return state;
  const Fd& fd = sockets_[static_cast<size_t>(stream)];
  msghdr message = message_of(pieces);
  const ssize_t n = recvmsg(fd.get(), &message, MSG_DONTWAIT);
  if (n > 0) return n;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  const std::string from = "receiving from " + endpoint_->describe(peer_);
  failure_ = n == 0 ? error(Code::kPeerLost, "{}: it closed the connection", from)
                    : errno_error(Code::kPeerLost, errno, from);
  return -1;
}

bool TcpChannel::poll_for_send(int stream, std::vector<pollfd>& fds) const {
  const Fd& fd = sockets_[static_cast<size_t>(stream)];
  if (fd.valid()) fds.push_back({fd.get(), POLLOUT, 0});
  return true;
}

bool TcpChannel::poll_for_recv(int stream, std::vector<pollfd>& fds) const {
  // Until the stream has arrived the endpoint's thread wakes the waiter.
  const Fd& fd = sockets_[static_cast<size_t>(stream)];
  if (fd.valid()) fds.push_back({fd.get(), POLLIN, 0});
  return true;
}

bool TcpChannel::reports_close(int stream, bool /*sends*/) const {
  return sockets_[static_cast<size_t>(stream)].valid();
}

}  // namespace rondo
