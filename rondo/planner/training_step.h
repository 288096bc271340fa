// TrainingStep: the part of a graph that is one step of training.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rondo/graph/optimizers.h"

namespace rondo {

struct TrainingStep {
  std::shared_ptr<Graph> graph;
  // The node of which a run is a step; its gradients, before any exchange.
  Node* train = nullptr;
  std::vector<GradientAndVariable> gradients;

  // What a run of it needs.
  std::vector<Node*> needed() const;
};

// Extents that the step's inputs leave open become `batch`, and so do those of
// other nodes that follow from them. What does not go together with that stays
// open.
void settle_shapes(const TrainingStep& step, int64_t batch);

// The step of a graph that was saved with its updates (ApplyMomentum, ...).
// An error where it has none.
Result<TrainingStep> find_step(const std::shared_ptr<Graph>& graph,
                               const std::string& name);

// What a run of the node needs, in the order in which nodes were made.
std::vector<Node*> needed_by(const Node& target);

// Whether a program would feed it, or a data set or a queue fill it.
bool is_input(const Node& node);
// The shape with `batch` for each open extent.
PartialShape with_batch(PartialShape shape, int64_t batch);

// Whether it changes a variable by a gradient, and which one.
bool is_update(const Node& node);
std::string updated_by(const Node& update);

}  // namespace rondo
