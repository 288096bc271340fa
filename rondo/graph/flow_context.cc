#include "rondo/graph/flow_context.h"

#include "rondo/graph/graph.h"

namespace rondo {

FlowContext::FlowContext(Graph& graph)
    : graph_(graph), first_id_(static_cast<int>(graph.nodes().size())) {
  graph.contexts_.push_back(this);
}

FlowContext::~FlowContext() { std::erase(graph_.contexts_, this); }

Value FlowContext::bring_in(Value value) {
  if (value.node->id() >= first_id_) return value;
  for (const auto& [outside, inside] : captured_)
    if (outside == value) return inside;
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
