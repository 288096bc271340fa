// TcpChannel: a channel over several sockets.
//
// Stream 0 is one socket used both ways: acknowledgements ride on data, which
// is worth a quarter of the time of a small exchange. The higher rank of the
// two opens it when it first needs it. Each further stream has a socket each
// way, so that sending and receiving much at once do not wait for one socket's
// lock; the sender opens it. The other side finds a socket at its endpoint.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/transport/channel.h"
#include "rondo/transport/endpoint.h"

namespace rondo {

class TcpChannel final : public Channel {
 public:
  // `long_streams` further streams beside stream 0.
  TcpChannel(std::shared_ptr<Endpoint> endpoint, int peer, uint64_t group,
             int long_streams, Duration connect_timeout);

  int streams() const override { return streams_; }
  ssize_t send(int stream, std::span<const iovec> pieces) override;
  ssize_t recv(int stream, std::span<const iovec> pieces) override;
  bool preview(int stream, std::span<char> to) override;
  bool poll_for_send(int stream, std::vector<pollfd>& fds) const override;
  bool poll_for_recv(int stream, std::vector<pollfd>& fds) const override;
  bool reports_close(int stream, bool sends) const override;
  Status failure() const override { return failure_; }

 private:
  const Fd& socket(int stream, bool sends) const;
  Fd& socket(int stream, bool sends);
  // The socket is open, is opened now, or has arrived: 1. Not there yet: 0. -1:
  // see failure_.
  int ready(int stream, bool sends);
  int open(int stream, bool sends);

  std::shared_ptr<Endpoint> endpoint_;
  int peer_;
  uint64_t group_;
  Duration connect_timeout_;
  int streams_;
  std::vector<Fd> sockets_;                         // see socket()
  std::optional<Clock::time_point> opening_since_;  // the first attempt
  Clock::time_point next_attempt_;
  Status failure_;
};

}  // namespace rondo
