// Partition: a step's graph, cut into one part for each device.
//
// An edge whose ends are on different devices is a *seam*. A tensor at a seam
// is sent once to each device that needs it: a Send in the part that has it, a
// Recv in the part that takes it. A control edge at a seam becomes a tensor of
// one element that says that its node has run, or was dead.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/subgraph.h"

namespace rondo {

// What one device runs of a step.
struct GraphPart {
  std::string device;
  Subgraph subgraph;  // its targets include all its Send nodes
  // Which of the whole graph's feeds and fetches those of `subgraph` are. A
  // feed may be of several parts, a fetch is of one.
  std::vector<int> feeds;
  std::vector<int> fetches;
};

struct PartitionOptions {
  // Whether tensors of f32 travel as bf16, in half the bytes.
  bool bf16 = false;
};

// Parts in the order of their devices' names. Every node that the step needs
// must have a device. A feed is given to every part that takes it, wherever its
// placeholder is. Throws when a node has no device, or when a seam is within a
// loop: all of a loop has to be on one device.
RONDO_API std::vector<GraphPart> partition(
    const Subgraph& whole, const PartitionOptions& options = {});

}  // namespace rondo
