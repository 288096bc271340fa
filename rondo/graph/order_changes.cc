#include <algorithm>
#include <map>
#include <string>

#include "rondo/graph/step_flow.h"
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

// Makes nodes of a step wait for others, unless those wait for them already.
class Orderer {
 public:
  Orderer(Subgraph& part, const std::vector<Node*>& order)
      : part_(part),
        waits_(order, part.graph->nodes().size()),
        flow_(order, part.graph->nodes().size()) {}

  void put(Node* before, Node* after) {
    const StepFlow::Sides sides = flow_.sides(*before, *after);
    for (Node* last : sides.after)
      for (Node* first : sides.before)
        if (first != last && waits_.may_order(first, last) &&
            !later(last)[id(first)])
          add(*first, *last);
  }
  // By id: what comes after `node` already.
  const std::vector<bool>& later(Node* node) {
    if (node != later_than_) {
      later_ = follows(node);
      later_than_ = node;
    }
    return later_;
  }

 private:
  static size_t id(const Node* node) { return static_cast<size_t>(node->id()); }

  std::vector<bool> follows(Node* node) const {
    std::vector<bool> found(part_.graph->nodes().size());
    found[id(node)] = true;
    for (Node* user : ordered_nodes(part_)) {
      for (const Value& input : user->inputs())
        if (found[id(input.node)]) found[id(user)] = true;
      for (Node* before : user->control_inputs())
        if (found[id(before)]) found[id(user)] = true;
    }
    return found;
  }

  // What a branch leaves out is not to take along who only comes behind it.
  void add(Node& first, Node& last) {
    if (!flow_.may_be_dead(first)) {
      last.add_control_input(first);
      return;
    }
    Node*& await = awaits_[&last];
    if (!await) {
      await = &part_.graph->add({.op = "Await"});
      await->set_device(last.device());
    }
    await->add_control_input(first);
    last.add_control_input(*await);
  }

  Subgraph& part_;
  const Waits waits_;
  const StepFlow flow_;
  std::map<const Node*, Node*> awaits_;  // by who waits
  // What is put before a node changes nothing in what comes after it.
  Node* later_than_ = nullptr;
  std::vector<bool> later_;
};

struct Uses {
  std::vector<Node*> readers;  // Variable nodes, and changes, whose value is
  std::vector<Node*> changes;  // what others read
};

}  // namespace

void order_changes(Subgraph& part, const OrderOptions& options) {
  const std::vector<Node*> order = ordered_nodes(part);
  Orderer orderer(part, order);
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
  for (auto& [name, uses] : variables) {
    // As most variables of optimizers are.
    if (uses.readers.empty() && uses.changes.size() == 1) continue;
    for (Node* change : uses.changes) {
      for (Node* reader : uses.readers) {
        if (orderer.later(change)[static_cast<size_t>(reader->id())]) continue;
        orderer.put(reader, change);
        if (!options.users) continue;
        // What goes into a loop, or on to its next iteration, keeps the value
        // of before, of which the change then makes a copy.
        for (Node* user : users[static_cast<size_t>(reader->id())])
          if (user->op().name != "Enter" && user->op().name != "NextIteration")
            orderer.put(user, change);
      }
      // Changes among themselves: in the order of the program.
      for (Node* other : uses.changes)
        if (other->id() < change->id()) orderer.put(other, change);
    }
  }
}

}  // namespace rondo
