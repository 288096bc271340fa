// Node: an operation with its attributes and where its inputs come from.
// Value: one output of a node; what expressions are made of.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/attr.h"

namespace rondo {

class Graph;
class Node;
struct OpDef;

// Element type and shape of a tensor, as far as known while building.
struct TensorType {
  DType dtype = DType::kF32;
  PartialShape shape;
};

// A handle; the graph owns the node. Empty: no value.
struct RONDO_API Value {
  Node* node = nullptr;
  int index = 0;

  explicit operator bool() const { return node != nullptr; }
  Graph& graph() const;
  DType dtype() const;
  const PartialShape& shape() const;
  // "layer1/MatMul", with ":1" behind it for a second output.
  std::string name() const;
  bool operator==(const Value&) const = default;
};

// Made by Graph::add and then fixed, but for control inputs and the device,
// which passes and placement set. Lives as long as its graph.
class RONDO_API Node {
 public:
  int id() const { return id_; }  // its place in Graph::nodes()
  const std::string& name() const { return name_; }
  const OpDef& op() const { return *op_; }
  const Attrs& attrs() const { return attrs_; }
  Graph& graph() const { return *graph_; }
  const std::vector<Value>& inputs() const { return inputs_; }
  const Value& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  // Nodes that run before this one without giving it anything.
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  const std::vector<TensorType>& outputs() const { return outputs_; }
  Value output(int i = 0) { return {this, i}; }
  // Which device the user asked for; empty: any.
  const std::string& device() const { return device_; }
  // Names of nodes whose device it is to share, by ColocateScope.
  const std::vector<std::string>& colocated_with() const {
    return colocated_with_;
  }
  // The line of the program that made it, where the front end said so.
  const std::string& origin() const { return origin_; }
  // "MatMul \"layer1/MatMul\" (train.py:12)": how messages name it.
  std::string describe() const;

  void add_control_input(Node& before);
  void set_device(std::string device);
  void set_colocated_with(std::vector<std::string> names);
  void set_input(int i, Value value);
  void set_shape(int output, PartialShape shape);

 private:
  friend class Graph;
  Node() = default;

  int id_ = 0;
  std::string name_;
  const OpDef* op_ = nullptr;
  Attrs attrs_;
  Graph* graph_ = nullptr;
  std::vector<Value> inputs_;
  std::vector<Node*> control_inputs_;
  std::vector<TensorType> outputs_;
  std::string device_;
  std::vector<std::string> colocated_with_;
  std::string origin_;
};

}  // namespace rondo
