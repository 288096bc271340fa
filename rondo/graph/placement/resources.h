// Which resources nodes refer to by name, so that they have to be on the device
// that has it.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct ResourceUse {
  std::string kind;  // "variable", "queue", …
  std::string name;
  // Whether this node is the one whose device says where the resource is: the
  // Variable node that has its name.
  bool owner = false;
  // Whether it outlives the step, so that moving it would lose it.
  bool kept = true;
  // Whether being in the same process would do: for those that AssignAll sets
  // besides its first.
  bool task_only = false;
};

// A node's resources, the one it is about first.
std::vector<ResourceUse> resources_of_node(const Node& node);
// "variable \"w\"".
std::string to_string(const ResourceUse& use);
// Bytes that the resource keeps, as far as `node`, which uses it, can tell.
double resource_bytes(const Node& node, const ResourceUse& use);

}  // namespace rondo
