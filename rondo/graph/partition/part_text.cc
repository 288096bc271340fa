#include "rondo/graph/partition/part_text.h"

#include "rondo/graph/ops/transfer.h"

namespace rondo {
namespace {

std::string line_of(const Node& node, const GraphPart& part) {
  std::string inputs;
  auto add = [&](const std::string& name) {
    inputs += fmt::format("{}{}", inputs.empty() ? "" : ", ", name);
  };
  for (const Value& input : node.inputs()) add(input.name());
  for (const Node* before : node.control_inputs())
    add(fmt::format("^{}", before->name()));
  std::string line =
      fmt::format("  {} = {}({})", node.name(), node.op().name, inputs);
  for (size_t i = 0; i < part.feeds.size(); ++i)
    if (part.subgraph.feeds[i].node == &node)
      line += fmt::format(" feed {}", part.feeds[i]);
  if (!is_send(node) && !is_recv(node)) return line;
  const TensorTransfer transfer = TensorTransfer::of(node);
  line += is_send(node) ? fmt::format(" to {}", transfer.to)
                        : fmt::format(" from {}", transfer.from);
  if (transfer.wire != transfer.dtype)
    line += fmt::format(" as {}", name_of(transfer.wire));
  return line;
}

}  // namespace

std::string to_text(const std::vector<GraphPart>& parts) {
  std::string text;
  for (const GraphPart& part : parts) {
    text += fmt::format("{}\n", part.device);
    for (const Node* node : ordered_nodes(part.subgraph))
      text += fmt::format("{}\n", line_of(*node, part));
    for (size_t i = 0; i < part.fetches.size(); ++i)
      text += fmt::format("  fetch {}: {}\n", part.fetches[i],
                          part.subgraph.fetches[i].name());
  }
  return text;
}

}  // namespace rondo
