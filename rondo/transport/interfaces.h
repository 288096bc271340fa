// Which of this host's network addresses a job uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

struct Interface {
  std::string name;       // "eth0"
  SocketAddress address;  // port 0
  int prefix_length = 0;
};

// The up interfaces of this host, one row per address.
Result<std::vector<Interface>> list_interfaces();

// A selection: comma-separated terms, each an interface name ("eth0"; a prefix
// with * : "eth*"), a network ("10.0.0.0/8", "fd00::/8") or an address
// ("10.0.0.7"). A term with ^ in front excludes. With at least one including
// term only what is included (and not excluded) is used; with excluding terms
// only, everything else but loopback; empty: every non-loopback address. Where
// these two leave nothing, loopback: ranks of one host reach each other by it,
// and others say that they cannot.
class InterfaceFilter {
 public:
  static Result<InterfaceFilter> parse(std::string_view text);

  // The addresses of `all` to listen on and publish, in order of preference
  // (IPv4 before IPv6, link-local last). An error that lists what there is when
  // nothing matches.
  Result<std::vector<Interface>> select(
      const std::vector<Interface>& all) const;

 private:
  struct Term {
    std::string name;        // empty: a network
    bool is_prefix = false;  // of names: "eth*"
    SocketAddress network;
    int prefix_length = 0;
    bool matches(const Interface& interface) const;
  };
  static Result<Term> parse_term(std::string_view text);

  std::string text_;  // as given, for messages
  std::vector<Term> include_;
  std::vector<Term> exclude_;
};

}  // namespace rondo
