// TcpChannel: a channel over one or several sockets, each used both ways, so
// that acknowledgements ride on data. The higher rank of the two opens a stream
// when it first sends or receives on it; the lower finds it at its endpoint.
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
  TcpChannel(std::shared_ptr<Endpoint> endpoint, int peer, uint64_t group,
             int streams, Duration connect_timeout);

  int streams() const override { return static_cast<int>(sockets_.size()); }
  ssize_t send(int stream, std::span<const iovec> pieces) override;
  ssize_t recv(int stream, std::span<const iovec> pieces) override;
  bool poll_for_send(int stream, std::vector<pollfd>& fds) const override;
  bool poll_for_recv(int stream, std::vector<pollfd>& fds) const override;
  bool reports_close(int stream, bool sends) const override;
  Status failure() const override { return failure_; }

 private:
  // The stream's socket: open, opened now, or arrived. 0: not there yet; -1:
  // see failure_.
  int ready(int stream);
  int open(int stream);

  std::shared_ptr<Endpoint> endpoint_;
  int peer_;
  uint64_t group_;
  Duration connect_timeout_;
  std::optional<Clock::time_point> opening_since_;  // the first attempt
  Clock::time_point next_attempt_;
  std::vector<Fd> sockets_;
  Status failure_;
};

}  // namespace rondo
