// TcpChannel: a channel over several sockets each way. The sending side opens a
// stream when it first sends on it; the receiving side finds it at its endpoint.
#pragma once

#include <memory>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/transport/channel.h"
#include "rondo/transport/endpoint.h"

namespace rondo {

class TcpChannel final : public Channel {
 public:
  TcpChannel(std::shared_ptr<Endpoint> endpoint, int peer, uint64_t group,
             int streams, Duration connect_timeout);

  int streams() const override { return static_cast<int>(out_.size()); }
  ssize_t send(int stream, std::span<const iovec> pieces) override;
  ssize_t recv(int stream, std::span<const iovec> pieces) override;
  bool poll_for_send(int stream, std::vector<pollfd>& fds) const override;
  bool poll_for_recv(int stream, std::vector<pollfd>& fds) const override;
  bool reports_close(int stream, bool sends) const override;
  Status failure() const override { return failure_; }

 private:
  bool open(int stream);

  std::shared_ptr<Endpoint> endpoint_;
  int peer_;
  uint64_t group_;
  Duration connect_timeout_;
  std::vector<Fd> out_;
  std::vector<Fd> in_;
  Status failure_;
};

}  // namespace rondo
