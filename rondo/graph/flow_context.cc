#include "rondo/graph/flow_context.h"

#include <algorithm>

#include "rondo/graph/graph.h"

namespace rondo {

FlowContext::FlowContext(Graph& graph)
    : graph_(graph), first_id_(static_cast<int>(graph.nodes().size())) {
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

Value FlowContext::bring_in(Value value) {
  if (is_inside(*value.node)) return value;
  for (const auto& [outside, inside] : captured_)
    if (outside == value) return inside;
  // What is made for it belongs to this context, or those around it, but not to
  // those within.
  const std::vector<FlowContext*> all = graph_.contexts_;
  const auto here = std::ranges::find(all, this);
  const int first = static_cast<int>(graph_.nodes().size());
  Value inside;
  {
    const ControlScope free(graph_, {}, true);
    graph_.contexts_.assign(all.begin(), here + 1);
    inside = stand_in(value);
    if (!inside) {
      graph_.contexts_.assign(all.begin(), here);
      inside = capture(value);
    }
  }
  graph_.contexts_ = all;
  for (auto inner = here + 1; inner != all.end(); ++inner)
    (*inner)->made_for_outer_.emplace_back(
        first, static_cast<int>(graph_.nodes().size()));
  captured_.emplace_back(value, inside);
  return inside;
}

}  // namespace rondo
