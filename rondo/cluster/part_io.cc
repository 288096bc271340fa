#include "rondo/cluster/part_io.h"

#include <cstring>

#include "rondo/cluster/wire.h"
#include "rondo/graph/graph_io.h"
#include "rondo/graph/subgraph_io.h"

namespace rondo {
namespace {

// The size of a text is written in 32 bits; graphs may have 31.
void write_part(wire::Writer& out, const Worker::Part& part) {
  out.text(part.device);
  out.text(to_graph_def(part.subgraph));
  out.number(static_cast<int64_t>(part.subgraph.feeds.size()));
  for (const Value& value : part.subgraph.feeds) out.text(value.name());
  out.number(static_cast<int64_t>(part.subgraph.fetches.size()));
  for (const Value& value : part.subgraph.fetches) out.text(value.name());
  out.number(static_cast<int64_t>(part.subgraph.targets.size()));
  for (const Node* node : part.subgraph.targets) out.text(node->name());
}

Status no_parts(std::string_view what) {
  return error(Code::kInvalidArgument, "these are no parts of a graph: {}",
               what);
}

Worker::Part read_part(wire::Reader& in) {
  Worker::Part part;
  part.device = in.text();
  part.subgraph.graph = from_graph_def(in.text());
  Graph& graph = *part.subgraph.graph;
  for (const std::string& name : in.texts())
    part.subgraph.feeds.push_back(graph.value(name));
  for (const std::string& name : in.texts())
    part.subgraph.fetches.push_back(graph.value(name));
  for (const std::string& name : in.texts()) {
    Node* node = graph.find(name);
    if (!node)
      throw Error(Code::kInvalidArgument,
                  fmt::format("target \"{}\" is not in the graph", name));
    part.subgraph.targets.push_back(node);
  }
  return part;
}

}  // namespace

Tensor bytes_tensor(std::string_view bytes) {
  Tensor tensor =
      Tensor::empty({static_cast<int64_t>(bytes.size())}, DType::kU8);
  std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return tensor;
}

Result<std::string_view> bytes_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::kU8 || tensor.shape().rank() != 1)
    return error(Code::kInvalidArgument, "expected bytes, got a tensor of {}{}",
                 name_of(tensor.dtype()), tensor.shape().to_string());
  return std::string_view(static_cast<const char*>(tensor.data()),
                          tensor.bytes());
}

Tensor parts_to_tensor(const std::vector<Worker::Part>& parts) {
  wire::Writer out;
  out.number(static_cast<int64_t>(parts.size()));
  for (const Worker::Part& part : parts) write_part(out, part);
  return bytes_tensor(out.take());
}

Result<std::vector<Worker::Part>> parts_from_tensor(const Tensor& tensor) {
  RONDO_ASSIGN_OR_RETURN(const std::string_view bytes, bytes_of(tensor));
  wire::Reader in(bytes);
  const int64_t count = in.number();
  if (count < 0 || static_cast<uint64_t>(count) > in.left())
    return no_parts("their number makes no sense");
  std::vector<Worker::Part> parts;
  try {
    for (int64_t i = 0; i < count; ++i) parts.push_back(read_part(in));
  } catch (const Error& e) {
    return Status(e.code(), e.what()).with_context("a part of the graph");
  }
  if (!in.ok()) return no_parts("they are not whole");
  return parts;
}

}  // namespace rondo
