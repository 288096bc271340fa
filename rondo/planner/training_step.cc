#include "rondo/planner/training_step.h"

#include <map>
#include <set>

#include "rondo/graph/op.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/models/layers.h"

namespace rondo {
namespace {

bool is_sparse_update(const Node& node) {
  return node.op().name.starts_with("SparseApply");
}

// Of its outputs; none where its inputs do not go together, or are too large.
std::vector<TensorType> inferred(const Node& node) {
  try {
    InferContext context(node.inputs(), node.attrs());
    if (!node.op().infer(context).ok()) return {};
    return context.take_outputs();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

bool is_update(const Node& node) {
  return is_sparse_update(node) || node.op().name.starts_with("Apply");
}

std::string updated_by(const Node& update) {
  return update.attrs().get<std::string>("variable");
}

bool is_input(const Node& node) {
  const std::string_view op = node.op().name;
  return op == "Placeholder" || op == "IteratorGetNext" ||
         op.starts_with("QueueDequeue");
}

PartialShape with_batch(PartialShape shape, int64_t batch) {
  if (!shape.has_rank()) return shape;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] == kAny) shape.set(i, batch);
  return shape;
}

void settle_shapes(const TrainingStep& step, int64_t batch) {
  for (Node* node : step.needed()) {
    const int outputs = static_cast<int>(node->outputs().size());
    if (is_input(*node)) {
      for (int i = 0; i < outputs; ++i)
        node->set_shape(i, with_batch(node->output(i).shape(), batch));
      continue;
    }
    for (int i = 0; const TensorType& found : inferred(*node)) {
      auto both = merge(node->output(i).shape(), found.shape);
      if (both.ok()) node->set_shape(i, *std::move(both));
      ++i;
    }
  }
}

std::vector<Node*> needed_by(const Node& target) {
  std::set<int> needed;
  std::vector<const Node*> look = {&target};
  while (!look.empty()) {
    const Node* node = look.back();
    look.pop_back();
    if (!needed.insert(node->id()).second) continue;
    for (const Value& input : node->inputs()) look.push_back(input.node);
    for (const Node* before : node->control_inputs()) look.push_back(before);
  }
  std::vector<Node*> nodes;
  for (const int id : needed)
    nodes.push_back(target.graph().nodes()[static_cast<size_t>(id)].get());
  return nodes;
}

std::vector<Node*> TrainingStep::needed() const { return needed_by(*train); }

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
  std::set<std::string> updated;
  for (const GradientAndVariable& one : step.gradients)
    if (!updated.insert(variable_name(one.variable)).second)
      return error(Code::kInvalidArgument,
                   "{}: several training operations update the variable {}, "
                   "and a step runs one of them; save the graph of a program "
                   "that calls minimize() once for it",
                   name, variable_name(one.variable));
  for (const GradientAndVariable& one : step.gradients)
    if (!one.variable.shape().known())
      return error(Code::kInvalidArgument,
                   "{}: the variable {} has the shape {}, and how much is "
                   "exchanged follows from it; give it a whole one in the "
                   "program",
                   name, variable_name(one.variable),
                   one.variable.shape().to_string());
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
