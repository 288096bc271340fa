// Slurm's short way of writing lists of hosts.
#pragma once

#include <string>
#include <string_view>

namespace rondo {

// The first host of a list: "node[003-005,8],x" gives "node003".
std::string first_slurm_node(std::string_view list);

}  // namespace rondo
