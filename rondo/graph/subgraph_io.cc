#include "rondo/graph/subgraph_io.h"

#include <climits>

#include "rondo/graph/graph_def.h"

namespace rondo {
namespace {

std::string serialize(const proto::GraphDef& message) {
  if (message.ByteSizeLong() > INT_MAX)
    throw Error(Code::kInvalidArgument,
                "the graph has more than 2 GB of constants, which cannot be "
                "sent: feed them, or keep them in variables");
  return message.SerializeAsString();
}

}  // namespace

std::string to_graph_def(const Subgraph& subgraph) {
  proto::GraphDef message = graph_to_message(*subgraph.graph, {});
  proto::GraphDef ordered;
  ordered.mutable_versions()->CopyFrom(message.versions());
  ordered.set_format(message.format());
  ordered.set_seed(message.seed());
  std::vector<bool> taken(subgraph.graph->nodes().size());
  auto add = [&](const Node* node) {
    const auto id = static_cast<size_t>(node->id());
    if (taken[id]) return;
    taken[id] = true;
    ordered.add_node()->Swap(message.mutable_node(node->id()));
  };
  for (const Value& feed : subgraph.feeds) add(feed.node);
  for (const Node* node : ordered_nodes(subgraph)) add(node);
  return serialize(ordered);
}

std::string to_graph_def_from(const Graph& graph, size_t first) {
  proto::GraphDef message = graph_to_message(graph, {});
  message.mutable_node()->DeleteSubrange(0, static_cast<int>(first));
  message.clear_collection();
  return serialize(message);
}

void extend_graph(Graph& graph, size_t first, std::string_view bytes) {
  proto::GraphDef message;
  if (bytes.size() > INT_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw Error(Code::kInvalidArgument, "these bytes are no graph");
  const size_t has = graph.nodes().size();
  const auto come = static_cast<size_t>(message.node_size());
  if (first > has || has - first > come)
    throw Error(Code::kInvalidArgument,
                fmt::format("{} nodes from number {} on do not continue a "
                            "graph of {}",
                            come, first, has));
  message.mutable_node()->DeleteSubrange(0, static_cast<int>(has - first));
  add_message(message, {}, graph);
}

}  // namespace rondo
