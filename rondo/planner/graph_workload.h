// A training graph as a workload: which gradients it has, how large they are,
// and when in a step each is there.
#pragma once

#include <memory>
#include <vector>

#include "rondo/graph/optimizers.h"
#include "rondo/plan/workload.h"

namespace rondo {

struct TrainingStep {
  std::shared_ptr<Graph> graph;
  // The node of which a run is a step; its gradients, before any exchange.
  Node* train = nullptr;
  std::vector<GradientAndVariable> gradients;
};

struct DeviceRates {
  double flops_per_s = 3e10;
  double bytes_per_s = 8e9;
};

// Of `batch` rows for each extent that the graph leaves open. The time of a
// step is that of its operations, one after another, by their costs and the
// device's rates.
Workload workload_of(const TrainingStep& step, double batch,
                     const DeviceRates& rates);

// The step of a graph that was saved with its updates (ApplyMomentum, ...).
// An error where it has none.
Result<TrainingStep> find_step(const std::shared_ptr<Graph>& graph,
                               const std::string& name);

}  // namespace rondo
