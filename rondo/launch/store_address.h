// Where the launcher serves the job's store.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

// The address of this host that `remote_hosts` can reach: of the interface that
// `interface` selects, where it is not empty; loopback when there are no remote
// hosts or all of them are this one by a loopback address; otherwise the
// address from which this host would send to the first remote host that has
// another.
Result<SocketAddress> store_address(
    const std::vector<std::string>& remote_hosts, const std::string& interface);

}  // namespace rondo
