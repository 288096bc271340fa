#include "rondo/planner/training_step.h"

#include <map>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/models/layers.h"

namespace rondo {
namespace {

bool is_sparse_update(const Node& node) {
  return node.op().name.starts_with("SparseApply");
}

}  // namespace

bool is_update(const Node& node) {
  return is_sparse_update(node) || node.op().name.starts_with("Apply");
}

std::string updated_by(const Node& update) {
  return update.attrs().get<std::string>("variable");
}

std::set<int> TrainingStep::needed() const {
  std::set<int> needed;
  std::vector<const Node*> look = {train};
  while (!look.empty()) {
    const Node* node = look.back();
    look.pop_back();
    if (!needed.insert(node->id()).second) continue;
    for (const Value& input : node->inputs()) look.push_back(input.node);
    for (const Node* before : node->control_inputs()) look.push_back(before);
  }
  return needed;
}

Result<TrainingStep> find_step(const std::shared_ptr<Graph>& graph,
                               const std::string& name) {
  std::map<std::string, Value> variables;
  for (const Value& variable : graph->collection(kTrainable))
    variables.emplace(variable_name(variable), variable);
  TrainingStep step{.graph = graph};
  std::vector<Node*> updates;
  for (const auto& node : graph->nodes()) {
    if (!is_update(*node)) continue;
    const auto at = variables.find(updated_by(*node));
    if (at == variables.end()) continue;
    updates.push_back(node.get());
    step.gradients.push_back({is_sparse_update(*node)
                                  ? Gradient(node->input(0), node->input(1), {})
                                  : Gradient(node->input(0)),
                              at->second});
  }
  if (updates.empty())
    return error(Code::kInvalidArgument,
                 "{}: the graph has no gradients, since no optimizer updates a "
                 "trainable variable; save it after optimizer.minimize(loss)",
                 name);
  for (const Value& update : graph->collection(models::kUpdates))
    updates.push_back(update.node);
  step.train = &group(*graph, updates, "planned_step");
  return step;
}

}  // namespace rondo
