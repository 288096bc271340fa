#include "rondo/graph/flow_context.h"

#include "rondo/graph/graph.h"

namespace rondo {

FlowContext::FlowContext(Graph& graph)
    : graph_(graph), first_id_(static_cast<int>(graph.nodes().size())) {
  graph.contexts_.push_back(this);
}

FlowContext::~FlowContext() { std::erase(graph_.contexts_, this); }

FlowContext::Suspend::Suspend(Graph& graph) : graph_(graph) {
  std::swap(contexts_, graph.contexts_);
  std::swap(control_, graph.control_);
}

FlowContext::Suspend::~Suspend() {
  graph_.contexts_ = std::move(contexts_);
  graph_.control_ = std::move(control_);
}

Value FlowContext::bring_in(Value value) {
  if (value.node->id() >= first_id_) return value;
  for (const auto& [outside, inside] : captured_)
    if (outside == value) return inside;
  if (const Value other = stand_in(value)) {
    captured_.emplace_back(value, other);
    return other;
  }
  // What is made for it belongs to the contexts around this one, and comes
  // after no node of this one.
  std::vector<FlowContext*> all;
  std::swap(all, graph_.contexts_);
  for (FlowContext* context : all) {
    if (context == this) break;
    graph_.contexts_.push_back(context);
  }
  const ControlScope free(graph_, {}, true);
  const Value inside = capture(value);
  graph_.contexts_ = std::move(all);
  captured_.emplace_back(value, inside);
  return inside;
}

}  // namespace rondo
