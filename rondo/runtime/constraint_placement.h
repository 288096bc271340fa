// ConstraintPlacement: devices for the nodes of a step by what they ask for and
// what they share, without a thought to time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rondo/graph/device_name.h"
#include "rondo/graph/subgraph.h"

namespace rondo {

struct PlacementOptions {
  std::vector<std::string> devices;  // full names
  // Whether a node that asks for a device that is not there goes elsewhere.
  bool soft = false;
};

// A node goes to a device that it asks for. One that leaves a choice goes where
// what it shares with others is (a variable, a queue), or else to where the
// first of its inputs is that has a place, or else to the first device; what
// has no inputs goes to whoever takes it. All nodes of a loop, all that use the
// same variable or queue, and those that are to be beside a node with that one
// (ColocateScope), go to one device, which the variable, or the first of them,
// asks for; what is kept stays there in later steps too. One thread at a time.
class RONDO_API ConstraintPlacement {
 public:
  explicit ConstraintPlacement(PlacementOptions options);

  // Sets the device of every node of the step, which is part of `graph`, in
  // full. An error says which node asks for what, and which devices there are.
  Status place(const Graph& graph, Subgraph& step);
  // Where the nodes of the step would go; fixes nothing for later.
  Result<std::string> explain(const Graph& graph, Subgraph& step) const;

 private:
  void find_variables(const Graph& graph);

  const PlacementOptions options_;
  std::vector<DeviceName> devices_;
  size_t seen_ = 0;  // nodes of the graph that find_variables() has looked at
  std::map<std::string, size_t> home_;  // of what steps share, by name
};

// Whether each node of the step may run on `device`, which is the only one.
RONDO_API Status check_one_device(const Subgraph& step,
                                  const std::string& device, bool soft);

}  // namespace rondo
