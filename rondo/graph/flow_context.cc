#include "rondo/graph/flow_context.h"

#include <algorithm>

#include "rondo/graph/graph.h"

namespace rondo {

FlowContext::FlowContext(Graph& graph)
    : graph_(graph),
      first_id_(static_cast<int>(graph.nodes().size())),
      control_around_(graph.control_) {
  graph.contexts_.push_back(this);
}

FlowContext::~FlowContext() { std::erase(graph_.contexts_, this); }

FlowContext::Suspend::Suspend(const Node& place)
    : graph_(place.graph()),
      first_id_(static_cast<int>(graph_.nodes().size())),
      contexts_(graph_.contexts_) {
  std::swap(control_, graph_.control_);
  const auto outside = std::ranges::find_if(
      contexts_,
      [&](const FlowContext* context) { return !context->is_inside(place); });
  graph_.contexts_.assign(contexts_.begin(), outside);
}

FlowContext::Suspend::~Suspend() {
  for (size_t i = graph_.contexts_.size(); i < contexts_.size(); ++i)
    contexts_[i]->made_for_outer_.emplace_back(
        first_id_, static_cast<int>(graph_.nodes().size()));
  graph_.contexts_ = std::move(contexts_);
  graph_.control_ = std::move(control_);
}

bool FlowContext::is_inside(const Node& node) const {
  return node.id() >= first_id_ &&
         std::ranges::none_of(made_for_outer_, [&](const auto& range) {
           return node.id() >= range.first && node.id() < range.second;
         });
}

bool FlowContext::began_after(const Node& before) const {
  return std::ranges::find(control_around_, &before) != control_around_.end();
}

void FlowContext::beside(bool own, const std::function<void()>& make) {
  const std::vector<FlowContext*> all = graph_.contexts_;
  const auto here = std::ranges::find(all, this);
  const int first = static_cast<int>(graph_.nodes().size());
  {
    const ControlScope free(graph_, {}, true);
    graph_.contexts_.assign(all.begin(), here + (own ? 1 : 0));
    make();
  }
  graph_.contexts_ = all;
  // What was made belongs to this context, or those around it, but not to those
  // within.
  for (auto inner = here + 1; inner != all.end(); ++inner)
    (*inner)->made_for_outer_.emplace_back(
        first, static_cast<int>(graph_.nodes().size()));
}

Value FlowContext::bring_in(Value value) {
  if (is_inside(*value.node)) return value;
  for (const auto& [outside, inside] : captured_)
    if (outside == value) return inside;
  Value inside;
  beside(true, [&] { inside = stand_in(value); });
  if (!inside) beside(false, [&] { inside = capture(value); });
  captured_.emplace_back(value, inside);
  return inside;
}

Node* FlowContext::bring_in(Node& before) {
  if (is_inside(before)) return &before;
  for (const auto& [outside, inside] : captured_nodes_)
    if (outside == &before) return inside;
  Node* inside = nullptr;
  beside(false, [&] { inside = capture(before); });
  captured_nodes_.emplace_back(&before, inside);
  return inside;
}

void FlowContext::tie(Node& node) {
  const auto ties = [&](const Node& before) {
    return is_inside(before) && !is_free(before);
  };
  for (const Value& input : node.inputs())
    if (!is_free(*input.node)) return;
  for (const Node* before : node.control_inputs())
    if (ties(*before)) return;
  node.add_control_input(pivot());
}

}  // namespace rondo
