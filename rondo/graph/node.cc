#include "rondo/graph/node.h"

#include <algorithm>

#include "rondo/graph/graph.h"
#include "rondo/graph/op.h"

namespace rondo {

Graph& Value::graph() const { return node->graph(); }

DType Value::dtype() const {
  return node->outputs()[static_cast<size_t>(index)].dtype;
}

const PartialShape& Value::shape() const {
  return node->outputs()[static_cast<size_t>(index)].shape;
}

std::string Value::name() const {
  return index == 0 ? node->name() : fmt::format("{}:{}", node->name(), index);
}

std::string Node::describe() const {
  std::string text = fmt::format("{} \"{}\"", op_->name, name_);
  if (!origin_.empty()) text += " (" + origin_ + ")";
  return text;
}

void Node::add_control_input(Node& before) {
  const auto lock = graph_->change();
  if (std::find(control_inputs_.begin(), control_inputs_.end(), &before) ==
      control_inputs_.end())
    control_inputs_.push_back(&before);
}

void Node::set_device(std::string device) {
  const auto lock = graph_->change();
  device_ = std::move(device);
}

void Node::set_colocated_with(std::vector<std::string> names) {
  const auto lock = graph_->change();
  colocated_with_ = std::move(names);
}

void Node::set_input(int i, Value value) {
  const auto lock = graph_->change();
  inputs_[static_cast<size_t>(i)] = value;
}

void Node::set_shape(int output, PartialShape shape) {
  const auto lock = graph_->change();
  outputs_[static_cast<size_t>(output)].shape = std::move(shape);
}

}  // namespace rondo
