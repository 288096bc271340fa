#include "rondo/launch/store_address.h"

#include <sys/socket.h>

#include <optional>

#include "rondo/transport/interfaces.h"

namespace rondo {
namespace {

Result<SocketAddress> selected(const std::string& interface) {
  RONDO_ASSIGN_OR_RETURN(const auto filter, InterfaceFilter::parse(interface));
  RONDO_ASSIGN_OR_RETURN(const auto all, list_interfaces());
  RONDO_ASSIGN_OR_RETURN(const auto chosen, filter.select(all));
  return chosen.front().address;
}

// The local address that the routes lead from; connecting a datagram socket
// asks the kernel for it and sends nothing.
std::optional<SocketAddress> source_toward(const SocketAddress& peer) {
  const Fd probe(::socket(peer.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.valid() || connect(probe.get(), peer.get(), peer.length()) != 0)
    return std::nullopt;
  auto address = local_address(probe.get());
  if (!address.ok()) return std::nullopt;
  address->set_port(0);
  return *address;
}

}  // namespace

Result<SocketAddress> store_address(
    const std::vector<std::string>& remote_hosts,
    const std::string& interface) {
  if (!interface.empty()) return selected(interface);
  bool all_here = true;
  for (const std::string& host : remote_hosts) {
    const std::string name = host.substr(host.find('@') + 1);
    const auto peers = SocketAddress::resolve(name, 9);
    if (!peers.ok()) {
      all_here = false;  // a name that only ssh's configuration knows
      continue;
    }
    for (const SocketAddress& peer : *peers) {
      const auto source = source_toward(peer);
      if (source && !source->is_loopback()) return *source;
    }
  }
  if (all_here) return SocketAddress::parse("127.0.0.1:0");
  return selected("");
}

}  // namespace rondo
