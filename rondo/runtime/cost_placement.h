// CostPlacement: devices for the nodes of a step by a simulation of it, and
// again when the times that steps took say that others are better.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rondo/graph/partition/delay_recvs.h"
#include "rondo/graph/placement/placement.h"
#include "rondo/graph/subgraph.h"
#include "rondo/runtime/measured_contention.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

struct CostPlacementOptions {
  // Functions of the program run on the task of the first one.
  std::vector<DeviceInfo> devices;
  // Whether a node that asks for a device that is not there goes elsewhere.
  bool soft = false;
  // Measures how much nodes slow each other: PlacementRequest::contention.
  // Called whenever steps may be placed again. None: they do not.
  std::function<std::vector<double>()> measure_contention = {};
};

// Nodes with the same variable, queue and so on stay on the device that the
// first step gave them; all else may move. docs/placement.md tells how devices
// are chosen. One thread at a time.
class RONDO_API CostPlacement {
 public:
  explicit CostPlacement(CostPlacementOptions options);

  // Sets the device of every node of the step, which is part of `graph`, in
  // full. Nodes that compute the same become one, as they would on one device.
  Status place(const Graph& graph, Subgraph& step);

  // Which runs of a step, counted from 1, are to be timed: a few, ever further
  // apart, and the two before each of them, since one alone may have been held
  // up.
  static bool wants_times(int64_t run);
  // Learns from the times of such a run; and, once in each group of them,
  // places again by what was learned. `step` is as place() got it before; true
  // when it has been placed in another way, which is faster.
  Result<bool> after_run(const Graph& graph, const Timeline& times, int64_t run,
                         Subgraph& step);
  // Whichever run it was.
  Result<bool> place_again(const Graph& graph, const Timeline& times,
                           Subgraph& step);

  // Where the nodes of a step are, or would go, and why.
  Result<std::string> explain(const Graph& graph, Subgraph& step);

  // How long nodes and transfers take, for what receives tensors of other
  // tasks. 0 for a transfer that was not measured, and within a process: it is
  // not held back. Asks this one, as place() is.
  DelayOptions delays() const;

  const CostModel& costs() const { return costs_; }

 private:
  PlacementRequest request(const Subgraph& step) const;
  // nullptr: it is not one of the session's.
  const DeviceInfo* device(const std::string& name) const;
  void find_state(const Graph& graph);
  Result<Placement> find(const Graph& graph, const Subgraph& step);
  void learn(const Graph& graph, const Timeline& times, Subgraph& step);

  const CostPlacementOptions options_;
  CostModel costs_;
  MeasuredContention contention_;
  size_t seen_ = 0;   // nodes of the graph that find_state() has looked at
  Placement before_;  // has the `state` of all steps
  // By the names of the step's nodes.
  std::map<std::string, Placement> placed_;
  // The run from which on it is to be placed again.
  std::map<std::string, int64_t> due_;
};

}  // namespace rondo
