#include "rondo/graph/partition/copy_constants.h"

#include <map>
#include <string>

namespace rondo {

void copy_constants(const std::vector<Node*>& constants, Graph& graph) {
  // By device, of each constant.
  std::map<const Node*, std::map<std::string, Node*>> copies;
  for (Node* constant : constants)
    copies[constant][constant->device()] = constant;
  // Those that are added take nothing.
  const size_t count = graph.nodes().size();
  for (size_t n = 0; n < count; ++n) {
    Node& node = *graph.nodes()[n];
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Node* constant = node.inputs()[i].node;
      const auto at = copies.find(constant);
      if (at == copies.end()) continue;
      Node*& here = at->second[node.device()];
      if (!here) {
        here = &graph.add({.op = "Const",
                           .attrs = constant->attrs(),
                           .name = fmt::format("{}/copy", constant->name()),
                           .origin = constant->origin()});
        here->set_device(node.device());
      }
      node.set_input(static_cast<int>(i), here->output());
    }
  }
}

}  // namespace rondo
