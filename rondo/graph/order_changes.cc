#include <algorithm>
#include <map>
#include <string>

#include "rondo/graph/subgraph.h"

namespace rondo {
namespace {

const std::string& resource_of(const Node& node) {
  const auto& name = node.attrs().get<std::string>("variable");
  return name.empty() ? node.name() : name;
}

struct Uses {
  std::vector<Node*> readers;  // Variable nodes, and changes, whose value is
  std::vector<Node*> changes;  // what others read
};

}  // namespace

void order_changes(Subgraph& part) {
  const std::vector<Node*> order = ordered_nodes(part);
  std::map<std::string, Uses> variables;
  std::vector<std::vector<Node*>> users(part.graph->nodes().size());
  for (Node* node : order) {
    for (const Value& input : node->inputs())
      users[static_cast<size_t>(input.node->id())].push_back(node);
    if (!node->attrs().has("variable")) continue;
    Uses& uses = variables[resource_of(*node)];
    (node->op().name == "Variable" || node->op().name == "IsInitialized"
         ? uses.readers
         : uses.changes)
        .push_back(node);
  }
  // Per change, what comes after it already.
  auto follows = [&](Node* change) {
    std::vector<bool> later(part.graph->nodes().size());
    later[static_cast<size_t>(change->id())] = true;
    for (Node* node : ordered_nodes(part)) {
      auto is_later = [&](Node* before) {
        return later[static_cast<size_t>(before->id())];
      };
      for (const Value& input : node->inputs())
        if (is_later(input.node)) later[static_cast<size_t>(node->id())] = true;
      for (Node* before : node->control_inputs())
        if (is_later(before)) later[static_cast<size_t>(node->id())] = true;
    }
    return later;
  };
  for (auto& [name, uses] : variables) {
    for (Node* change : uses.changes) {
      const auto later = follows(change);
      auto put_before = [&](Node* node) {
        if (node != change && !later[static_cast<size_t>(node->id())])
          change->add_control_input(*node);
      };
      for (Node* reader : uses.readers) {
        if (later[static_cast<size_t>(reader->id())]) continue;
        put_before(reader);
        for (Node* user : users[static_cast<size_t>(reader->id())])
          put_before(user);
      }
      // Changes among themselves: in the order of the program.
      for (Node* other : uses.changes)
        if (other->id() < change->id()) put_before(other);
    }
  }
}

}  // namespace rondo
