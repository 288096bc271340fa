// Problem: a step as numbers, for the simulation and the search.
//
// Items are the nodes of a step, in the order of their edges. A group is what
// goes to one device together. An assignment says which device each group is
// on.
#pragma once

#include <vector>

#include "rondo/graph/placement/candidates.h"
#include "rondo/graph/placement/loops.h"
#include "rondo/graph/placement/placement.h"

namespace rondo {

using Assignment = std::vector<int>;  // by group: a device

struct PlacementProblem {
  // What an item gives to others: a tensor, or only that it has run.
  struct Out {
    double bytes = 0;
    std::vector<int> users;  // items, each once
  };
  // What an item takes.
  struct In {
    int item = 0;
    int out = 0;  // of that item
  };
  struct Item {
    const Node* node = nullptr;
    int group = 0;
    int first_out = 0;  // the number of its first Out among those of all items
    // Whether each device that uses it has it without a transfer: feeds, and
    // small constants.
    bool copied = false;
    std::vector<In> inputs;
    std::vector<Out> outs;
    std::vector<double> seconds;  // by device
    // The longest time from its start to the end of the step.
    double priority = 0;
  };
  struct Group {
    std::vector<int> items;
    std::vector<int> devices;     // those it may be on
    std::vector<double> seconds;  // of all its items, by device
    double state_bytes = 0;
  };

  std::vector<Item> items;
  std::vector<Group> groups;
  int devices = 0;
  int outs = 0;                    // of all items
  std::vector<int> threads;        // by device
  std::vector<double> memory;      // by device; 0: without bound
  std::vector<DeviceLink> links;   // from * devices + to
  std::vector<double> contention;  // as PlacementRequest has it
  const DeviceLink& link(int from, int to) const {
    return links[static_cast<size_t>(from) * static_cast<size_t>(devices) +
                 static_cast<size_t>(to)];
  }
};

// Groups are those of `candidates`, by number.
PlacementProblem make_problem(const Graph& graph,
                              const PlacementRequest& request,
                              const NodeOrder& order,
                              const Candidates& candidates);
// Sets the priorities of the items, from their times and edges.
void set_priorities(PlacementProblem& problem);

}  // namespace rondo
