#include "rondo/transport/tcp/tcp_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

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
                       uint64_t group, int long_streams,
                       Duration connect_timeout)
    : endpoint_(std::move(endpoint)),
      peer_(peer),
      group_(group),
      connect_timeout_(connect_timeout),
      streams_(1 + long_streams),
      sockets_(1 + 2 * static_cast<size_t>(long_streams)) {}

const Fd& TcpChannel::socket(int stream, bool sends) const {
  const auto s = static_cast<size_t>(stream);
  return sockets_[stream == 0 ? 0 : 2 * s - (sends ? 1 : 0)];
}

Fd& TcpChannel::socket(int stream, bool sends) {
  return const_cast<Fd&>(std::as_const(*this).socket(stream, sends));
}

int TcpChannel::ready(int stream, bool sends) {
  if (socket(stream, sends).valid()) return 1;
  const bool opens = stream == 0 ? endpoint_->rank() > peer_ : sends;
  if (opens) return open(stream, sends);
  auto arrived = endpoint_->take_stream(peer_, group_, stream);
  if (!arrived) return 0;
  socket(stream, sends) = std::move(*arrived);
  return 1;
}

// A peer that is stopped takes the connection and says nothing. Attempts are
// short, so that the operation in between sees its time-out and the group's
// failures, and grow with the time that was spent for a peer that is only slow.
int TcpChannel::open(int stream, bool sends) {
  constexpr Duration kFirst = std::chrono::milliseconds(100);
  constexpr Duration kLongest = std::chrono::seconds(3);
  constexpr Duration kPause = std::chrono::milliseconds(50);
  const auto now = Clock::now();
  if (!opening_since_) opening_since_ = now;
  if (now < next_attempt_) return 0;
  const Duration spent = now - *opening_since_;
  auto opened = endpoint_->open_stream(
      peer_, group_, stream,
      Deadline(std::clamp(spent / 16, kFirst, kLongest)));
  if (opened.ok()) {
    socket(stream, sends) = std::move(*opened);
    opening_since_.reset();
    return 1;
  }
  next_attempt_ = Clock::now() + kPause;
  if (opened.status().code() == Code::kUnavailable && spent < connect_timeout_)
    return 0;
  failure_ = opened.status();
  return -1;
}

ssize_t TcpChannel::send(int stream, std::span<const iovec> pieces) {
  if (const int state = ready(stream, true); state <= 0) return state;
  const Fd& fd = socket(stream, true);
  const msghdr message = message_of(pieces);
  const ssize_t n = sendmsg(fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n >= 0) return n;
  if (errno == EAGAIN || errno == EINTR) return 0;
  failure_ = errno_error(Code::kPeerLost, errno,
                         "sending to " + endpoint_->describe(peer_));
  return -1;
}

ssize_t TcpChannel::recv(int stream, std::span<const iovec> pieces) {
  if (const int state = ready(stream, false); state <= 0) return state;
  const Fd& fd = socket(stream, false);
  msghdr message = message_of(pieces);
  const ssize_t n = recvmsg(fd.get(), &message, MSG_DONTWAIT);
  if (n > 0) return n;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  const std::string from = "receiving from " + endpoint_->describe(peer_);
  failure_ = n == 0
                 ? error(Code::kPeerLost, "{}: it closed the connection", from)
                 : errno_error(Code::kPeerLost, errno, from);
  return -1;
}

// The peer may be waiting for this side to open the stream. That is tried, but
// counts neither as the beginning of an opening nor as a failure.
bool TcpChannel::preview(int stream, std::span<char> to) {
  const bool opening = opening_since_.has_value();
  const int state = ready(stream, false);
  if (!opening) opening_since_.reset();
  return state == 1 &&
         ::recv(socket(stream, false).get(), to.data(), to.size(),
                MSG_PEEK | MSG_DONTWAIT) == static_cast<ssize_t>(to.size());
}

bool TcpChannel::poll_for_send(int stream, std::vector<pollfd>& fds) const {
  const Fd& fd = socket(stream, true);
  if (fd.valid()) fds.push_back({fd.get(), POLLOUT, 0});
  return true;
}

bool TcpChannel::poll_for_recv(int stream, std::vector<pollfd>& fds) const {
  // Until the stream has arrived the endpoint's thread wakes the waiter.
  const Fd& fd = socket(stream, false);
  if (fd.valid()) fds.push_back({fd.get(), POLLIN, 0});
  return true;
}

bool TcpChannel::reports_close(int stream, bool sends) const {
  return socket(stream, sends).valid();
}

}  // namespace rondo
