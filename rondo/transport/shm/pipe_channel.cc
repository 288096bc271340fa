#include "rondo/transport/shm/pipe_channel.h"

#include <algorithm>
#include <cstring>

namespace rondo {
namespace {

constexpr uint64_t round_to_line(uint64_t position) {
  return (position + 63) & ~uint64_t{63};
}

}  // namespace

PipeChannel::PipeChannel(BoardView mine, BoardView theirs, int my_index,
                         int peer_index)
    : mine_(std::move(mine)),
      theirs_(std::move(theirs)),
      in_(&mine_->pipes[peer_index]),
      out_(&theirs_->pipes[my_index]) {}

ssize_t PipeChannel::send(int /*stream*/, std::span<const iovec> pieces) {
  const uint64_t start = out_->written.load(std::memory_order_relaxed);
  uint64_t at = start;
  const uint64_t end = out_->read.load(std::memory_order_seq_cst) + kPipeBytes;
  // end_send may have rounded past the end while a message was half read.
  if (at >= end) return 0;
  for (const iovec& piece : pieces) {
    const char* from = static_cast<const char*>(piece.iov_base);
    size_t left = std::min<uint64_t>(piece.iov_len, end - at);
    while (left > 0) {
      const size_t place = at % kPipeBytes;
      const size_t n = std::min(left, kPipeBytes - place);
      std::memcpy(out_->ring + place, from, n);
      from += n;
      at += n;
      left -= n;
    }
    if (at == end) break;
  }
  if (at == start) return 0;
  out_->written.store(at, std::memory_order_seq_cst);
  theirs_->doorbell.ring();
  return static_cast<ssize_t>(at - start);
}

void PipeChannel::end_send(int /*stream*/) {
  const uint64_t at = out_->written.load(std::memory_order_relaxed);
  if (round_to_line(at) == at) return;
  out_->written.store(round_to_line(at), std::memory_order_release);
}

std::span<const char> PipeChannel::peek(int /*stream*/) {
  const uint64_t at = in_->read.load(std::memory_order_relaxed);
  const uint64_t end = in_->written.load(std::memory_order_seq_cst);
  // The sender's padding may be there before this side has skipped its own.
  if (end <= at) return {};
  const size_t place = at % kPipeBytes;
  return {in_->ring + place, std::min<size_t>(end - at, kPipeBytes - place)};
}

void PipeChannel::consume(int /*stream*/, size_t bytes) {
  in_->read.store(in_->read.load(std::memory_order_relaxed) + bytes,
                  std::memory_order_seq_cst);
  theirs_->doorbell.ring();
}

void PipeChannel::end_recv(int /*stream*/) {
  // May run ahead of `written` for a moment: the sender rounds up right after
  // its last byte. peek() shows nothing until then.
  const uint64_t at = in_->read.load(std::memory_order_relaxed);
  in_->read.store(round_to_line(at), std::memory_order_release);
}

ssize_t PipeChannel::recv(int stream, std::span<const iovec> pieces) {
  size_t total = 0;
  for (const iovec& piece : pieces) {
    char* to = static_cast<char*>(piece.iov_base);
    size_t left = piece.iov_len;
    while (left > 0) {
      const auto here = peek(stream);
      if (here.empty()) return static_cast<ssize_t>(total);
      const size_t n = std::min(left, here.size());
      std::memcpy(to, here.data(), n);
      consume(stream, n);
      to += n;
      left -= n;
      total += n;
    }
  }
  return static_cast<ssize_t>(total);
}

}  // namespace rondo
