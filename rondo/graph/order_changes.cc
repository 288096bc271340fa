#include <algorithm>
#include <map>
#include <string>

#include "rondo/graph/subgraph.h"

namespace rondo {
namespace {

// The variables that a node reads or changes: the one it is about, and those
// that an optimizer keeps for it.
std::vector<std::string> resources_of(const Node& node) {
  if (!node.attrs().has("variable")) return {};
  const auto& name = node.attrs().get<std::string>("variable");
  std::vector<std::string> names = {name.empty() ? node.name() : name};
  if (node.attrs().has("slots"))
    for (const auto& slot : node.attrs().get<std::vector<std::string>>("slots"))
      names.push_back(slot);
  return names;
}

// What each node waits for, directly or not, of the nodes that may wait for
// others of the same run (OpDef::waits): by id, one flag for each of those.
//
// An edge from a node to one that waits for less could close a circle through a
// queue, which no graph shows. An edge to one that waits for all the same, and
// only such are added, changes nothing in what waits for what.
class Waits {
 public:
  explicit Waits(const std::vector<Node*>& order, size_t nodes) : of_(nodes) {
    size_t count = 0;
    for (const Node* node : order)
      if (node->op().waits) ++count;
    if (count == 0) return;
    size_t next = 0;
    for (const Node* node : order) {
      auto& waits = of_[id(node)];
      waits.resize(count);
      if (node->op().waits) waits[next++] = true;
      for (const Value& input : node->inputs()) join(waits, input.node);
      for (const Node* before : node->control_inputs()) join(waits, before);
    }
  }
  bool may_order(const Node* before, const Node* after) const {
    const auto& has = of_[id(before)];
    for (size_t i = 0; i < has.size(); ++i)
      if (has[i] && !of_[id(after)][i]) return false;
    return true;
  }

 private:
  static size_t id(const Node* node) { return static_cast<size_t>(node->id()); }
  // Of an edge that closes a loop, nothing is known yet.
  void join(std::vector<bool>& waits, const Node* before) const {
    const auto& more = of_[id(before)];
    for (size_t i = 0; i < more.size(); ++i)
      if (more[i]) waits[i] = true;
  }

  std::vector<std::vector<bool>> of_;
};

struct Uses {
  std::vector<Node*> readers;  // Variable nodes, and changes, whose value is
  std::vector<Node*> changes;  // what others read
};

}  // namespace

void order_changes(Subgraph& part, const OrderOptions& options) {
  const std::vector<Node*> order = ordered_nodes(part);
  const Waits waits(order, part.graph->nodes().size());
  std::map<std::string, Uses> variables;
  std::vector<std::vector<Node*>> users(part.graph->nodes().size());
  for (Node* node : order) {
    for (const Value& input : node->inputs())
      users[static_cast<size_t>(input.node->id())].push_back(node);
    const bool reads =
        node->op().name == "Variable" || node->op().name == "IsInitialized";
    for (const std::string& name : resources_of(*node)) {
      Uses& uses = variables[name];
      (reads ? uses.readers : uses.changes).push_back(node);
    }
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
    // As most variables of optimizers are.
    if (uses.readers.empty() && uses.changes.size() == 1) continue;
    for (Node* change : uses.changes) {
      const auto later = follows(change);
      auto put_before = [&](Node* node) {
        if (node != change && !later[static_cast<size_t>(node->id())] &&
            waits.may_order(node, change))
          change->add_control_input(*node);
      };
      for (Node* reader : uses.readers) {
        if (later[static_cast<size_t>(reader->id())]) continue;
        put_before(reader);
        if (!options.users) continue;
        // A loop's nodes cannot be waited for from outside; what entered it
        // keeps the value of before, of which the change then makes a copy.
        for (Node* user : users[static_cast<size_t>(reader->id())])
          if (user->op().name != "Enter") put_before(user);
      }
      // Changes among themselves: in the order of the program.
      for (Node* other : uses.changes)
        if (other->id() < change->id()) put_before(other);
    }
  }
}

}  // namespace rondo
