// Reading what a descriptor has, without waiting for more.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "rondo/transport/socket.h"

namespace rondo {

// Hands what can be read from `fd`, which does not block, to take(bytes), piece
// by piece. No piece begins behind `limit` bytes: whoever writes without end
// must not keep the others waiting. False at the end, or when `fd` is broken.
template <class Take>
bool read_ready(const Fd& fd, size_t limit, Take&& take) {
  char chunk[1 << 16];
  for (size_t total = 0; total < limit;) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    total += static_cast<size_t>(got);
    take(std::string_view(chunk, static_cast<size_t>(got)));
  }
  return true;
}

}  // namespace rondo
