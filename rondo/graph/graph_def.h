// Graphs as protobuf messages: what graph_io.h is made of.
#pragma once

#include <memory>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/graph.pb.h"

namespace rondo {

// What is done with the elements of constants: tensors larger than
// `inline_up_to` go into `data`, and are left out where there is no such list.
struct ConstantsOut {
  size_t inline_up_to = SIZE_MAX;
  std::vector<Tensor>* data = nullptr;
};

proto::GraphDef graph_to_message(const Graph& graph,
                                 const ConstantsOut& constants);
// Puts "scope/" before all names in a message: of nodes, and of what they refer
// to by name.
void put_within(const std::string& scope, proto::GraphDef& message);
// Throws when the graph has a node of one of the message's names.
void check_names(const proto::GraphDef& message, const Graph& graph);
// Adds the nodes and collections of a message to a graph. `data` are bytes, in
// the order in which they were taken out. Throws when the message is no graph,
// or has names that are taken in the graph, which then has a part of it.
void add_message(const proto::GraphDef& message,
                 const std::vector<Tensor>& data, Graph& graph);

// Attributes: attr_def.cc.
void attr_to_message(const AttrValue& value, const ConstantsOut& constants,
                     proto::AttrValue& message);
// `spec` is what the operation says of the attribute.
Result<AttrValue> attr_from_message(const proto::AttrValue& message,
                                    const AttrValue& spec,
                                    const std::vector<Tensor>& data);
void shape_to_message(const PartialShape& shape,
                      proto::TensorShapeProto& message);
Result<PartialShape> shape_from_message(const proto::TensorShapeProto& message);

}  // namespace rondo
