// Where a store is, as RONDO_STORE says it.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

struct StoreUrl {
  enum class Kind { kTcp, kFile, kPmi, kMemory };
  Kind kind = Kind::kMemory;
  std::string host;    // kTcp; IPv6 numbers without brackets
  int port = 0;        // kTcp
  std::string folder;  // kFile
  int fd = -1;         // kPmi

  // "tcp://host:port", "tcp://[fd00::1]:port", "file:///folder", "pmi:FD",
  // "memory".
  static Result<StoreUrl> parse(std::string_view text);
};

std::string make_tcp_url(const std::string& host, int port);

}  // namespace rondo
