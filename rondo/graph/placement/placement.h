// Placement: which device runs each node of a step, by the constraints that
// nodes have and a simulation of the step. docs/placement.md tells how.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/graph/graph.h"
#include "rondo/graph/placement/cost_model.h"
#include "rondo/graph/placement/device_info.h"

namespace rondo {

struct PlacedNode {
  std::string name;
  std::string op;
  std::string device;  // in full
  std::string why;
};

// What a device or a link does in a step, by the simulation.
struct DeviceLoad {
  std::string device;
  int nodes = 0;
  double busy_seconds = 0;
  double state_bytes = 0;
};
struct LinkLoad {
  std::string from;
  std::string to;
  int tensors = 0;
  double bytes = 0;
  double busy_seconds = 0;
};

struct Placement {
  std::vector<PlacedNode> nodes;  // by node id
  double step_seconds = 0;
  // The best step with all on one device, as far as constraints allow.
  double one_device_seconds = 0;
  std::string one_device;
  std::vector<DeviceLoad> devices;
  std::vector<LinkLoad> links;  // those that carry something
  // Where each variable, queue and so on is: "variable \"w\"" → device. A later
  // placement, of this graph or another of the same session, keeps it there.
  std::map<std::string, std::string> state;
  // What was asked for and not done, line by line.
  std::vector<std::string> notes;
  int evaluations = 0;             // simulations that it took
  std::vector<double> contention;  // as the request had it

  const std::string& device_of(const Node& node) const {
    return nodes[static_cast<size_t>(node.id())].device;
  }
};

// How long to look for something better than the first result.
struct SearchBudget {
  // Simulations; negative: as many as take a fraction of a second, by the size
  // of the graph; 0: none.
  int evaluations = -1;
  // The result is the same every time, unless this ends the search.
  Deadline deadline = Deadline::never();
};

struct PlacementRequest {
  std::vector<DeviceInfo> devices;
  DeviceLinks links = {};  // those that differ from default_link()
  // How many times as long a node takes when two nodes, three, … of all devices
  // run at once: [0] for two. More count as the last. None: they do not slow
  // each other. Costs are those of nodes that run alone.
  std::vector<double> contention = {};
  const CostModel* costs = nullptr;  // none: estimates
  // Whether a device can run a node; none: any device any node.
  std::function<bool(const Node&, const DeviceInfo&)> has_kernel = {};
  // Whether a node that asks for a device that is not there, or that cannot run
  // it, goes elsewhere.
  bool soft = false;
  // What is in its `state` stays where it is.
  const Placement* previous = nullptr;
  SearchBudget budget = {};
  // The nodes that a step runs; empty: all. Others get a device too, but cost
  // nothing.
  std::vector<const Node*> step = {};
};

// Fails when there are nodes that no device suits: says which, and what they
// ask for.
RONDO_API Result<Placement> place(const Graph& graph,
                                  const PlacementRequest& request);

// Whether placing anew, with the costs known by now, pays.
struct Replacement {
  bool pays = false;
  Placement old;        // the old one, timed with these costs
  Placement placement;  // the new one
};
// `old` is a placement of the same graph; what keeps state stays. It pays when
// a step gets faster by `least_gain` of its time.
RONDO_API Result<Replacement> replace_pays(const Graph& graph,
                                           const Placement& old,
                                           const PlacementRequest& request,
                                           double least_gain = 0.1);

// A table of the nodes, and what the step will take.
RONDO_API std::string explain(const Placement& placement);

}  // namespace rondo
