#include "rondo/runtime/constraint_placement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "rondo/graph/frames.h"
#include "rondo/runtime/explain_placed.h"

namespace rondo {
namespace {

std::string variable_key(const std::string& name) {
  return fmt::format("variable {}", name);
}

// Names of what a node shares with others, in this run or between runs.
std::vector<std::string> shared_by(const Node& node) {
  std::vector<std::string> names;
  auto add = [&](std::string_view kind, const std::string& name) {
    names.push_back(fmt::format("{} {}", kind, name));
  };
  const Attrs& attrs = node.attrs();
  if (attrs.has("variable")) {
    const auto& name = attrs.get<std::string>("variable");
    names.push_back(variable_key(name.empty() ? node.name() : name));
    if (attrs.has("slots"))
      for (const auto& slot : attrs.get<std::vector<std::string>>("slots"))
        names.push_back(variable_key(slot));
  }
  for (const std::string_view kind :
       {"queue", "accumulator", "mutex", "iterator"})
    if (attrs.has(kind)) add(kind, attrs.get<std::string>(kind));
  if (node.op().name == "StackWrite" || node.op().name == "StackRead")
    add("stack", attrs.get<std::string>("name"));
  return names;
}

Status no_such_device(const Node& node, const std::vector<std::string>& all) {
  return error(Code::kInvalidArgument,
               "{} asks for the device {}, which is not there; there {} {}. "
               "Ask for one of them, make more (device_count), or allow soft "
               "placement",
               node.describe(), node.device(), all.size() == 1 ? "is" : "are",
               fmt::join(all, ", "));
}

bool same_task(const DeviceName& a, const DeviceName& b) {
  return a.job == b.job && a.task == b.task;
}

// What is kept is found by its name, but only within a process.
Status apart(const Node& node, const std::string& name,
             const std::string& where, const std::string& others) {
  return error(Code::kInvalidArgument,
               "{} uses {}, which is on {}, together with what is on {}: one "
               "node, or one loop, can only use what is in one process",
               node.describe(), name, where, others);
}

// Sets of nodes that have to be together.
class Groups {
 public:
  explicit Groups(const Subgraph& step)
      : order_(ordered_nodes(step)), parent_(step.graph->nodes().size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    Frames frames(*step.graph);
    std::map<std::string, const Node*> first;
    std::map<std::string, const Node*> beside;  // by colocated_with()
    for (const Node* node : order_) {
      for (const std::string& name : node->colocated_with()) {
        // Those that name a node which the step lacks are together all the
        // same.
        const Node* named = step.graph->find(name);
        join(*beside.emplace(name, named ? named : node).first->second, *node);
      }
      for (const std::string& name : shared_by(*node)) {
        const auto [at, is_new] = first.emplace(name, node);
        if (!is_new) join(*at->second, *node);
      }
      // Edges within a loop, and those that leave it.
      for (const Value& input : node->inputs())
        if (frames.of(*input.node) != 0) join(*input.node, *node);
      for (const Node* before : node->control_inputs())
        if (frames.of(*before) != 0) join(*before, *node);
    }
  }
  size_t of(const Node& node) {
    size_t at = static_cast<size_t>(node.id());
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  const std::vector<Node*>& order() const { return order_; }

 private:
  void join(const Node& a, const Node& b) { parent_[of(b)] = of(a); }

  const std::vector<Node*> order_;
  std::vector<size_t> parent_;  // by node id
};

}  // namespace

ConstraintPlacement::ConstraintPlacement(PlacementOptions options)
    : options_(std::move(options)) {
  for (const std::string& name : options_.devices)
    devices_.push_back(DeviceName::parse(name).value());
}

// A step that changes a variable need not have the node that says where it is.
void ConstraintPlacement::find_variables(const Graph& graph) {
  for (; seen_ < graph.nodes().size(); ++seen_) {
    const Node& node = *graph.nodes()[seen_];
    if (node.op().name != "Variable" || node.device().empty()) continue;
    const auto wanted = DeviceName::parse(node.device());
    for (size_t i = 0; wanted.ok() && i < devices_.size(); ++i) {
      if (!wanted->matches(devices_[i])) continue;
      home_.emplace(shared_by(node)[0], i);
      break;
    }
  }
}

Status ConstraintPlacement::place(const Graph& graph, Subgraph& step) {
  find_variables(graph);
  Groups groups(step);
  const size_t count = step.graph->nodes().size();
  std::vector<std::vector<bool>> allowed(count);  // by group
  std::vector<std::optional<size_t>> chosen(count);
  // A function of the program is where the program is, with the first device.
  const DeviceName here{devices_[0].job, devices_[0].task, {}, {}};
  auto ask = [&](const Node& node) -> Status {
    const bool host_call = node.op().name == "HostCall";
    if (node.device().empty() && !host_call) return {};
    RONDO_ASSIGN_OR_RETURN(
        const DeviceName wanted,
        node.device().empty() ? here : DeviceName::parse(node.device()));
    auto& before = allowed[groups.of(node)];
    std::vector<bool> both(devices_.size());
    bool any = false;
    for (size_t i = 0; i < both.size(); ++i) {
      const bool suits = wanted.matches(devices_[i]);
      any = any || suits;
      both[i] = suits && (before.empty() || before[i]);
    }
    if (!any && !options_.soft) return no_such_device(node, options_.devices);
    // Who asked first has it: what changes a variable goes to the variable.
    if (std::ranges::find(both, true) != both.end()) before = std::move(both);
    return {};
  };
  for (const Node* node : groups.order()) {
    auto& its = chosen[groups.of(*node)];
    for (const std::string& name : shared_by(*node)) {
      const auto at = home_.find(name);
      if (at == home_.end()) continue;
      if (its && !same_task(devices_[*its], devices_[at->second]))
        return apart(*node, name, options_.devices[at->second],
                     options_.devices[*its]);
      its = at->second;
    }
    for (const std::string& name : node->colocated_with())
      if (const auto at = home_.find(variable_key(name)); at != home_.end())
        its = its.value_or(at->second);
    if (node->op().name == "Variable") RONDO_RETURN_IF_ERROR(ask(*node));
  }
  for (const Node* node : groups.order())
    if (node->op().name != "Variable") RONDO_RETURN_IF_ERROR(ask(*node));
  auto may = [&](size_t group, size_t device) {
    return allowed[group].empty() || allowed[group][device];
  };
  // What takes nothing and asks for nothing, such as a constant, goes to
  // whoever takes it first.
  auto is_free = [&](const Node& node) {
    return node.inputs().empty() && shared_by(node).empty() &&
           allowed[groups.of(node)].empty();
  };
  for (const Node* node : groups.order()) {
    auto& its = chosen[groups.of(*node)];
    if (its || is_free(*node)) continue;
    for (const Value& input : node->inputs()) {
      const auto& there = chosen[groups.of(*input.node)];
      if (!there || !may(groups.of(*node), *there)) continue;
      its = there;
      break;
    }
    for (size_t i = 0; i < devices_.size() && !its; ++i)
      if (may(groups.of(*node), i)) its = i;
  }
  for (const Node* node : groups.order())
    for (const Value& input : node->inputs())
      if (auto& its = chosen[groups.of(*input.node)]; !its)
        its = chosen[groups.of(*node)];
  for (const Node* node : groups.order()) {
    auto& its = chosen[groups.of(*node)];
    if (!its) its = 0;
    for (const std::string& name : shared_by(*node)) home_.emplace(name, *its);
  }
  for (Node* node : groups.order())
    node->set_device(options_.devices[*chosen[groups.of(*node)]]);
  return {};
}

Result<std::string> ConstraintPlacement::explain(const Graph& graph,
                                                 Subgraph& step) const {
  std::vector<std::string> asked;
  for (const auto& node : step.graph->nodes()) asked.push_back(node->device());
  ConstraintPlacement trial = *this;
  RONDO_RETURN_IF_ERROR(trial.place(graph, step));
  return explain_placed(step, asked, options_.devices);
}

Status check_one_device(const Subgraph& step, const std::string& device,
                        bool soft) {
  if (soft) return {};
  const std::vector<std::string> all = {device};
  RONDO_ASSIGN_OR_RETURN(const DeviceName there, DeviceName::parse(device));
  std::string last;  // most nodes ask for what the one before did
  for (const auto& node : step.graph->nodes()) {
    if (node->device() == last) continue;
    RONDO_ASSIGN_OR_RETURN(const DeviceName wanted,
                           DeviceName::parse(node->device()));
    if (!wanted.matches(there)) return no_such_device(*node, all);
    last = node->device();
  }
  return {};
}

}  // namespace rondo
