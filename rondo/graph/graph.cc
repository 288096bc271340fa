#include "rondo/graph/graph.h"

#include <algorithm>

#include "rondo/graph/check_node.h"
#include "rondo/graph/device_name.h"
#include "rondo/graph/op_registry.h"
#include "rondo/graph/origin.h"

namespace rondo {
namespace {

// Where a node is named by text, "node:1" is its second output and "^node" an
// edge that only orders: a saved graph with such a name could not be read.
void check_name(std::string_view name) {
  if (!name.starts_with('^') && name.find(':') == std::string_view::npos)
    return;
  throw Error(
      Code::kInvalidArgument,
      fmt::format("\"{}\" is no name for a node or a scope: it must not "
                  "have a ':' in it nor begin with '^'",
                  name));
}

}  // namespace

Node& Graph::add(NodeArgs args) {
  const OpDef* op = OpRegistry::process().find(args.op);
  if (!op)
    throw Error(Code::kInvalidArgument,
                fmt::format("there is no operation \"{}\"", args.op));
  auto node = std::unique_ptr<Node>(new Node);
  node->op_ = op;
  node->graph_ = this;
  node->origin_ = std::move(args.origin);
  if (node->origin_.empty()) node->origin_ = OriginScope::current();
  // The name is only used up once the node is known to be good.
  node->name_ = args.name.empty() ? std::string(op->name) : args.name;
  check_name(node->name_);
  node->attrs_ = std::move(args.attrs);
  node->inputs_ = std::move(args.inputs);
  for (FlowContext* context : std::vector(contexts_))
    for (Value& input : node->inputs_)
      if (input) input = context->bring_in(input);
  auto outputs = check_node(*this, *node, node->attrs_);
  if (!outputs.ok()) {
    node->name_ = name_scope_ + node->name_;
    throw Error(
        outputs.status().code(),
        fmt::format("{}: {}", node->describe(), outputs.status().message()));
  }
  node->outputs_ = std::move(*outputs);
  node->name_ = unique_name(node->name_);
  node->device_ = device_;
  node->colocated_with_ = colocate_;
  const std::vector<FlowContext*> contexts = contexts_;
  const auto wait_for = [&](Node* before) {
    for (FlowContext* context : contexts)
      if (before) before = context->bring_in(*before);
    if (before) node->add_control_input(*before);
  };
  for (Node* before : std::vector(control_)) wait_for(before);
  for (Node* before : args.control_inputs) wait_for(before);
  if (!contexts.empty()) contexts.back()->tie(*node);
  node->id_ = static_cast<int>(nodes_.size());
  const auto lock = change();
  nodes_.push_back(std::move(node));
  Node& made = *nodes_.back();
  by_name_[made.name()] = &made;
  return made;
}

Node* Graph::find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? nullptr : at->second;
}

Value Graph::value(std::string_view name) const {
  const size_t colon = name.rfind(':');
  int index = 0;
  if (colon != std::string_view::npos) {
    const std::string digits(name.substr(colon + 1));
    if (digits.empty() || digits.size() > 6 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      throw Error(Code::kInvalidArgument,
                  fmt::format("\"{}\" is not the name of a value: expected "
                              "\"node\" or \"node:1\"",
                              name));
    index = std::stoi(digits);
  }
  Node* node = find(name.substr(0, colon));
  if (!node)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("the graph has no node \"{}\"", name.substr(0, colon)));
  if (index >= static_cast<int>(node->outputs().size()))
    throw Error(Code::kInvalidArgument,
                fmt::format("{} has {} outputs, so there is no \"{}\"",
                            node->describe(), node->outputs().size(), name));
  return {node, index};
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = clone_of(std::vector<bool>(nodes_.size(), true));
  // Of all nodes, so places are the same.
  for (const auto& [name, values] : collections_)
    for (const Value& value : values)
      copy->collections_[name].push_back(
          {copy->nodes_[static_cast<size_t>(value.node->id())].get(),
           value.index});
  copy->seed_ = seed_;
  return copy;
}

std::unique_ptr<Graph> Graph::clone_of(const std::vector<bool>& wanted) const {
  auto copy = std::make_unique<Graph>();
  std::vector<Node*> twins(nodes_.size());
  for (const auto& node : nodes_) {
    const auto id = static_cast<size_t>(node->id());
    if (!wanted[id]) continue;
    auto twin = std::unique_ptr<Node>(new Node(*node));
    twin->graph_ = copy.get();
    twin->id_ = static_cast<int>(copy->nodes_.size());
    copy->by_name_[twin->name_] = twins[id] = twin.get();
    copy->nodes_.push_back(std::move(twin));
  }
  auto moved = [&](Node*& node) {
    if (node) node = twins[static_cast<size_t>(node->id())];
  };
  for (const auto& node : copy->nodes_) {
    for (Value& input : node->inputs_) moved(input.node);
    for (Node*& before : node->control_inputs_) moved(before);
    std::erase(node->control_inputs_, nullptr);
  }
  copy->attachments_ = attachments_;
  copy->name_uses_ = name_uses_;
  return copy;
}

std::string Graph::unique_name(std::string_view name) {
  std::string wanted = name_scope_ + std::string(name);
  const auto lock = change();
  int& uses = name_uses_[wanted];
  if (uses++ == 0) return wanted;
  for (int i = uses - 1;; ++i) {
    std::string unique = fmt::format("{}_{}", wanted, i);
    if (name_uses_.emplace(unique, 1).second) return unique;
  }
}

std::vector<Value>& Graph::collection(std::string_view name) {
  const auto at = collections_.find(name);
  return at != collections_.end() ? at->second
                                  : collections_[std::string(name)];
}

void Graph::attach(std::string name, std::shared_ptr<const Attachment> what) {
  const auto lock = change();
  const auto [at, fresh] = attachments_.emplace(name, std::move(what));
  if (!fresh)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("something is attached to the graph as \"{}\"", at->first));
}

std::shared_ptr<const Attachment> Graph::attachment(
    std::string_view name) const {
  const auto at = attachments_.find(name);
  return at == attachments_.end() ? nullptr : at->second;
}

NameScope::NameScope(Graph& graph, std::string_view name)
    : graph_(graph), before_(graph.name_scope_) {
  check_name(name);
  if (name.ends_with('/'))
    graph.name_scope_ = name == "/" ? "" : name;
  else
    graph.name_scope_ = graph.unique_name(name) + "/";
}

NameScope::~NameScope() { graph_.name_scope_ = before_; }

DeviceScope::DeviceScope(Graph& graph, std::string_view device)
    : graph_(graph), before_(graph.device_) {
  const DeviceName inner = DeviceName::parse(device).value();
  const DeviceName outer = DeviceName::parse(before_).value();
  graph.device_ = outer.refined_by(inner).to_string();
}

DeviceScope::~DeviceScope() { graph_.device_ = before_; }

ColocateScope::ColocateScope(Graph& graph, const Node& with, bool clear)
    : graph_(graph), device_before_(graph.device_), before_(graph.colocate_) {
  if (&with.graph() != &graph)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("colocate_with: {} is of another graph", with.describe()));
  if (clear) graph.colocate_.clear();
  // What `with` itself is beside is named, so that the nodes stay together in a
  // part of the graph that lacks it.
  auto names = with.colocated_with();
  if (names.empty()) names.push_back(with.name());
  for (std::string& name : names)
    if (std::ranges::find(graph.colocate_, name) == graph.colocate_.end())
      graph.colocate_.push_back(std::move(name));
  graph.device_ = with.device();
}

ColocateScope::~ColocateScope() {
  graph_.device_ = device_before_;
  graph_.colocate_ = before_;
}

ControlScope::ControlScope(Graph& graph, const std::vector<Node*>& before,
                           bool clear)
    : graph_(graph), before_(graph.control_) {
  if (clear) graph.control_.clear();
  for (Node* node : before) graph.control_.push_back(node);
}

ControlScope::~ControlScope() { graph_.control_ = before_; }

Value make(std::string_view op, std::vector<Value> inputs, Attrs attrs,
           std::string name) {
  if (inputs.empty() || !inputs[0])
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: its first input is no value", op));
  Graph& graph = inputs[0].graph();
  return graph
      .add({.op = op,
            .inputs = std::move(inputs),
            .attrs = std::move(attrs),
            .name = std::move(name)})
      .output();
}

}  // namespace rondo
