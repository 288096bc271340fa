// Socket and SocketAddress: descriptors and addresses of TCP over IPv4 and
// IPv6.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"

namespace rondo {

// An owned file descriptor, closed when it goes.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

// An IPv4 or IPv6 address with a port.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t length);
  // "10.0.0.1:4000", "[fe80::1%eth0]:4000". Numbers only, no names.
  static Result<SocketAddress> parse(std::string_view text);
  // Every address of `host` (name or number), IPv4 first.
  static Result<std::vector<SocketAddress>> resolve(const std::string& host,
                                                    int port);

  int family() const { return storage_.ss_family; }
  int port() const;
  void set_port(int port);
  bool is_loopback() const;
  bool is_link_local() const;
  std::string to_string() const;    // with port
  std::string host_string() const;  // without
  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  socklen_t length() const;
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_{};
};

// Ports that listening sockets may use; 0..0 lets the system choose.
struct PortRange {
  int low = 0;
  int high = 0;
  // "", "5000", "5000-5100".
  static Result<PortRange> parse(std::string_view text);
};

// A listening socket bound to `address` with a port of `ports`. Non-blocking
// and close-on-exec, as is every socket here.
Result<Fd> listen_on(SocketAddress address, PortRange ports);
Result<SocketAddress> local_address(int fd);
Result<SocketAddress> peer_address(int fd);
// Connects; the error names the address and the reason.
Result<Fd> connect_to(const SocketAddress& address, Deadline deadline);
// The whole of `data`; waits with poll(2) until the deadline.
Status send_all(int fd, std::span<const char> data, Deadline deadline);
Status recv_all(int fd, std::span<char> data, Deadline deadline);
// TCP_NODELAY and what else every connection of Rondo's has; after connect or
// accept, since a connection within one host has more.
void set_stream_options(int fd);

}  // namespace rondo
