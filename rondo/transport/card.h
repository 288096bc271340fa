// Card: what a rank publishes so that others can reach it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

struct Card {
  uint64_t nonce = 0;  // names the endpoint; a connection must ask for it
  int pid = 0;
  std::string host;  // the host's name, for messages only
  std::string boot;  // the same for processes under one running kernel
  std::string cpus;  // that this process may run on: "0-3,8"
  std::vector<SocketAddress> addresses;  // where it listens

  // One line of text.
  std::string to_string() const;
  static Result<Card> parse(std::string_view text);
};

// The name of this host, the identity of its running kernel, and the processors
// that this process may use.
std::string host_name();
std::string boot_identity();
std::string usable_cpus();
// Adds the processors of a list like "0-3,8" to `cpus`.
void add_cpus(std::string_view list, std::set<int>& cpus);

}  // namespace rondo
