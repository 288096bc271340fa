// PipeChannel: a channel through the rings of two boards on one host.
#pragma once

#include "rondo/transport/channel.h"
#include "rondo/transport/shm/board.h"

namespace rondo {

class PipeChannel final : public Channel {
 public:
  // `mine` and `theirs` are the two ranks' boards; `my_index` and `peer_index`
  // their places in the group, which number the pipes.
  PipeChannel(BoardView mine, BoardView theirs, int my_index, int peer_index);

  int streams() const override { return 1; }
  ssize_t send(int stream, std::span<const iovec> pieces) override;
  ssize_t recv(int stream, std::span<const iovec> pieces) override;
  bool can_peek() const override { return true; }
  std::span<const char> peek(int stream) override;
  void consume(int stream, size_t bytes) override;
  void end_send(int stream) override;
  void end_recv(int stream) override;
  bool poll_for_send(int, std::vector<pollfd>&) const override { return false; }
  bool poll_for_recv(int, std::vector<pollfd>&) const override { return false; }
  Status failure() const override { return {}; }

 private:
  BoardView mine_;
  BoardView theirs_;
  Pipe* in_;   // theirs to mine, in my board
  Pipe* out_;  // mine to theirs, in their board
};

}  // namespace rondo
