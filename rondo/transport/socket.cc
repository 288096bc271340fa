#include "rondo/transport/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace rondo {
namespace {

constexpr int kListenBacklog = 1024;
// Longest single poll(2); the loops around it look at the deadline again.
constexpr int kPollSliceMs = 100;

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const char* end = text.data() + text.size();
  auto [rest, ec] = std::from_chars(text.data(), end, port);
  if (ec != std::errc() || rest != end || port < 0 || port > 65535)
    return std::nullopt;
  return port;
}

const in_addr& v4(const sockaddr_storage& s) {
  return reinterpret_cast<const sockaddr_in&>(s).sin_addr;
}

const in6_addr& v6(const sockaddr_storage& s) {
  return reinterpret_cast<const sockaddr_in6&>(s).sin6_addr;
}

uint32_t first_byte_v4(const sockaddr_storage& s) {
  return ntohl(v4(s).s_addr) >> 24;
}

// True when the descriptor is ready for `events` (or has failed, which the next
// call on it reports); false when the deadline has passed.
bool wait_ready(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, deadline.poll_ms(kPollSliceMs));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;
    if (deadline.passed()) return false;
  }
}

std::string peer_name(int fd) {
  auto peer = peer_address(fd);
  return peer.ok() ? peer->to_string() : "the peer";
}

Status io_error(int fd, int err, std::string_view what) {
  const bool lost = err == EPIPE || err == ECONNRESET || err == ETIMEDOUT ||
                    err == ECONNABORTED || err == EHOSTUNREACH ||
                    err == ENETUNREACH || err == ENETDOWN;
  return errno_error(lost ? Code::kPeerLost : Code::kInternal, err,
                     fmt::format("{} {}", what, peer_name(fd)));
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() { reset(); }

int Fd::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) {
  std::memcpy(&storage_, address, std::min<size_t>(length, sizeof storage_));
}

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  const auto bad = [&] {
    return error(Code::kInvalidArgument,
                 "\"{}\" is not an address with a port, such as "
                 "10.0.0.1:4000 or [fd00::1]:4000",
                 text);
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad();
  std::string_view host = text.substr(0, colon);
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return bad();
  const bool bracketed =
      host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // getaddrinfo, since inet_pton does not know zones ("%eth0").
  addrinfo hints{};
  hints.ai_family = bracketed ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  if (host.empty() ||
      ::getaddrinfo(std::string(host).c_str(), nullptr, &hints, &list) != 0)
    return bad();
  SocketAddress address(list->ai_addr, list->ai_addrlen);
  ::freeaddrinfo(list);
  address.set_port(*port);
  return address;
}

Result<std::vector<SocketAddress>> SocketAddress::resolve(
    const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int rc = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (rc != 0)
    return error(Code::kUnavailable,
                 "the name \"{}\" does not resolve to an address: {}", host,
                 rc == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(rc));
  std::vector<SocketAddress> found;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
    SocketAddress address(a->ai_addr, a->ai_addrlen);
    address.set_port(port);
    if (std::find(found.begin(), found.end(), address) == found.end())
      found.push_back(address);
  }
  ::freeaddrinfo(list);
  if (found.empty())
    return error(Code::kUnavailable,
                 "the name \"{}\" has neither an IPv4 nor an IPv6 address",
                 host);
  std::stable_partition(found.begin(), found.end(), [](const SocketAddress& a) {
    return a.family() == AF_INET;
  });
  return found;
}

int SocketAddress::port() const {
  if (family() == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(storage_).sin_port);
  if (family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(storage_).sin6_port);
  return 0;
}

void SocketAddress::set_port(int port) {
  const auto wire = htons(static_cast<uint16_t>(port));
  if (family() == AF_INET)
    reinterpret_cast<sockaddr_in&>(storage_).sin_port = wire;
  if (family() == AF_INET6)
    reinterpret_cast<sockaddr_in6&>(storage_).sin6_port = wire;
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) return first_byte_v4(storage_) == 127;
  if (family() != AF_INET6) return false;
  const in6_addr& a = v6(storage_);
  // ::ffff:127.x.y.z is an IPv4 peer of a dual-stack socket.
  return IN6_IS_ADDR_LOOPBACK(&a) ||
         (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == 127);
}

bool SocketAddress::is_link_local() const {
  if (family() == AF_INET)
    return ntohl(v4(storage_).s_addr) >> 16 == (169u << 8 | 254u);
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6(storage_));
}

std::string SocketAddress::host_string() const {
  char host[NI_MAXHOST];
  if (::getnameinfo(get(), length(), host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return "?";
  return host;
}

std::string SocketAddress::to_string() const {
  if (family() == AF_INET6)
    return fmt::format("[{}]:{}", host_string(), port());
  return fmt::format("{}:{}", host_string(), port());
}

socklen_t SocketAddress::length() const {
  if (family() == AF_INET) return sizeof(sockaddr_in);
  if (family() == AF_INET6) return sizeof(sockaddr_in6);
  return 0;
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  if (family() != other.family() || port() != other.port()) return false;
  if (family() == AF_INET)
    return v4(storage_).s_addr == v4(other.storage_).s_addr;
  if (family() != AF_INET6) return true;  // both empty
  const auto& a = reinterpret_cast<const sockaddr_in6&>(storage_);
  const auto& b = reinterpret_cast<const sockaddr_in6&>(other.storage_);
  return std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0 &&
         a.sin6_scope_id == b.sin6_scope_id;
}

Result<PortRange> PortRange::parse(std::string_view text) {
  if (text.empty()) return PortRange{};
  const size_t dash = text.find('-');
  const auto low = parse_port(text.substr(0, dash));
  const auto high =
      dash == std::string_view::npos ? low : parse_port(text.substr(dash + 1));
  if (!low || !high || *low == 0 || *low > *high)
    return error(Code::kInvalidArgument,
                 "\"{}\" is not a range of ports: expected a port or two, such "
                 "as 5000 or 5000-5100, from 1 to 65535",
                 text);
  return PortRange{*low, *high};
}

Result<Fd> listen_on(SocketAddress address, PortRange ports) {
  int err = 0;
  for (int port = ports.low; port <= ports.high; ++port) {
    address.set_port(port);
    Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                   0));
    if (!fd.valid())
      return errno_error(Code::kResource, errno, "make a listening socket");
    const int on = 1;
    // So that a port can be used again at once when a job has ended.
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6)
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    // listen(2) too says "in use" when two sockets were bound at one moment.
    if (::bind(fd.get(), address.get(), address.length()) == 0 &&
        ::listen(fd.get(), kListenBacklog) == 0)
      return fd;
    err = errno;
    if (err != EADDRINUSE && err != EACCES) break;
  }
  const std::string where =
      ports.low == ports.high
          ? address.to_string()
          : fmt::format("{} with a port from {} to {}", address.host_string(),
                        ports.low, ports.high);
  return errno_error(err == EACCES          ? Code::kPermission
                     : err == EADDRNOTAVAIL ? Code::kUnavailable
                                            : Code::kResource,
                     err, fmt::format("listen on {}", where));
}

Result<SocketAddress> local_address(int fd) {
  sockaddr_storage s{};
  socklen_t length = sizeof s;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&s), &length) != 0)
    return errno_error(Code::kInternal, errno, "getsockname");
  return SocketAddress(reinterpret_cast<sockaddr*>(&s), length);
}

Result<SocketAddress> peer_address(int fd) {
  sockaddr_storage s{};
  socklen_t length = sizeof s;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&s), &length) != 0)
    return errno_error(Code::kPeerLost, errno, "getpeername");
  if (s.ss_family != AF_INET && s.ss_family != AF_INET6)
    return error(Code::kInvalidArgument, "not a TCP connection");
  return SocketAddress(reinterpret_cast<sockaddr*>(&s), length);
}

Result<Fd> connect_to(const SocketAddress& address, Deadline deadline) {
  Fd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                 0));
  if (!fd.valid()) return errno_error(Code::kResource, errno, "make a socket");
  const std::string what = fmt::format("connect to {}", address.to_string());
  int err = 0;
  if (::connect(fd.get(), address.get(), address.length()) != 0) err = errno;
  if (err == EINPROGRESS || err == EINTR) {
    if (!wait_ready(fd.get(), POLLOUT, deadline))
      return error(Code::kTimeout, "{}: no answer in time", what);
    socklen_t length = sizeof err;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &err, &length);
  }
  if (err == ETIMEDOUT) return errno_error(Code::kTimeout, err, what);
  if (err != 0)
    return errno_error(
        err == EMFILE || err == ENOBUFS ? Code::kResource : Code::kUnavailable,
        err, what);
  // With nobody listening on a local port of the ephemeral range, the kernel
  // may pick that very port for our end, and TCP then connects us to ourselves.
  auto mine = local_address(fd.get());
  if (mine.ok() && *mine == address)
    return errno_error(Code::kUnavailable, ECONNREFUSED, what);
  set_stream_options(fd.get());
  return fd;
}

Status send_all(int fd, std::span<const char> data, Deadline deadline) {
  while (!data.empty()) {
    const ssize_t n =
        ::send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      data = data.subspan(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_ready(fd, POLLOUT, deadline))
        return error(Code::kTimeout,
                     "send to {}: {} bytes could not be sent "
                     "in time",
                     peer_name(fd), data.size());
    } else if (errno != EINTR) {
      return io_error(fd, errno, "send to");
    }
  }
  return {};
}

Status recv_all(int fd, std::span<char> data, Deadline deadline) {
  while (!data.empty()) {
    const ssize_t n = ::recv(fd, data.data(), data.size(), MSG_DONTWAIT);
    if (n > 0) {
      data = data.subspan(static_cast<size_t>(n));
    } else if (n == 0) {
      return error(Code::kPeerLost, "{} closed the connection", peer_name(fd));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_ready(fd, POLLIN, deadline))
        return error(Code::kTimeout,
                     "receive from {}: {} bytes did not come "
                     "in time",
                     peer_name(fd), data.size());
    } else if (errno != EINTR) {
      return io_error(fd, errno, "receive from");
    }
  }
  return {};
}

void set_stream_options(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Where the host's default is BBR, its pacing halves what loopback carries.
  // Nothing is lost there, and any process may choose Reno.
  constexpr std::string_view kUnpaced = "reno";
  const auto here = local_address(fd);
  const auto there = peer_address(fd);
  if (here.ok() && there.ok() && here->host_string() == there->host_string())
    ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(),
                 kUnpaced.size());
  // A host that vanishes without a word is noticed after about a minute even on
  // a connection that is only waited on.
  const int idle_s = 30, interval_s = 10, probes = 3;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace rondo
