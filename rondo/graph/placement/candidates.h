// Candidates: which devices each group of nodes may be on.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/placement/colocation.h"
#include "rondo/graph/placement/placement.h"

namespace rondo {

// A group of nodes that go together, and where to.
struct NodeGroup {
  std::vector<const Node*> nodes;  // in order of ids
  std::vector<int> devices;        // places in PlacementRequest::devices
  // Why there are no others: "asked for by \"w\"", …; empty: there is a choice.
  std::string why;
  bool stateful = false;
};

struct Candidates {
  std::vector<NodeGroup> groups;
  std::vector<int> group_of;  // by node id
  std::vector<std::string> notes;
};

// Joins groups further where an operation on several variables wants it.
Result<Candidates> find_candidates(const Graph& graph,
                                   const PlacementRequest& request,
                                   Colocation& together);

}  // namespace rondo
