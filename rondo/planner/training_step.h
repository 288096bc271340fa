// TrainingStep: the part of a graph that is one step of training.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rondo/graph/optimizers.h"

namespace rondo {

struct TrainingStep {
  std::shared_ptr<Graph> graph;
  // The node of which a run is a step; its gradients, before any exchange.
  Node* train = nullptr;
  std::vector<GradientAndVariable> gradients;

  // The ids of what a run of it needs.
  std::set<int> needed() const;
};

// The step of a graph that was saved with its updates (ApplyMomentum, ...).
// An error where it has none.
Result<TrainingStep> find_step(const std::shared_ptr<Graph>& graph,
                               const std::string& name);

// Whether it changes a variable by a gradient, and which one.
bool is_update(const Node& node);
std::string updated_by(const Node& update);

}  // namespace rondo
