#include "rondo/graph/placement/problem.h"

#include <algorithm>
#include <map>
#include <set>

#include "rondo/graph/placement/resources.h"

namespace rondo {
namespace {

size_t id_of(const Node* node) { return static_cast<size_t>(node->id()); }

class Maker {
 public:
  Maker(const Graph& graph, const PlacementRequest& request,
        const NodeOrder& order, const Candidates& candidates)
      : request_(request),
        order_(order),
        candidates_(candidates),
        costs_(request.costs ? *request.costs : estimates_),
        item_of_(graph.nodes().size(), -1) {}

  PlacementProblem make() {
    add_devices();
    for (const NodeGroup& group : candidates_.groups)
      problem_.groups.push_back(
          {.items = {},
           .devices = group.devices,
           .seconds = std::vector<double>(request_.devices.size()),
           .state_bytes = state_bytes(group)});
    std::vector<bool> runs(item_of_.size(), request_.step.empty());
    for (const Node* node : request_.step) runs[id_of(node)] = true;
    for (const Node* node : order_.nodes)
      if (runs[id_of(node)]) add_item(*node);
    for (size_t i = 0; i < problem_.items.size(); ++i)
      add_edges(static_cast<int>(i));
    for (PlacementProblem::Item& item : problem_.items) {
      item.first_out = problem_.outs;
      problem_.outs += static_cast<int>(item.outs.size());
    }
    set_priorities(problem_);
    return std::move(problem_);
  }

 private:
  void add_devices() {
    problem_.devices = static_cast<int>(request_.devices.size());
    problem_.contention = request_.contention;
    for (const DeviceInfo& from : request_.devices) {
      problem_.threads.push_back(std::max(1, from.threads));
      problem_.memory.push_back(from.memory);
      for (const DeviceInfo& to : request_.devices)
        problem_.links.push_back(costs_.link(from, to, request_.links));
    }
  }

  // Each variable once, and the constants.
  static double state_bytes(const NodeGroup& group) {
    std::map<std::string, double> variables;
    double bytes = 0;
    for (const Node* node : group.nodes) {
      if (node->op().name == "Const") bytes += bytes_of(node->outputs()[0]);
      for (const ResourceUse& use : resources_of_node(*node)) {
        if (use.task_only) continue;
        double& most = variables[to_string(use)];
        most = std::max(most, resource_bytes(*node, use));
      }
    }
    for (const auto& [name, size] : variables) bytes += size;
    return bytes;
  }

  void add_item(const Node& node) {
    const auto number = static_cast<int>(problem_.items.size());
    item_of_[id_of(&node)] = number;
    PlacementProblem::Item item;
    item.node = &node;
    item.group = candidates_.group_of[id_of(&node)];
    item.copied = node.op().name == "Placeholder" || is_small_constant(node);
    item.seconds =
        costs_.seconds(node, request_.devices, order_.depth[id_of(&node)]);
    auto& group = problem_.groups[static_cast<size_t>(item.group)];
    group.items.push_back(number);
    for (size_t d = 0; d < item.seconds.size(); ++d)
      group.seconds[d] += item.seconds[d];
    problem_.items.push_back(std::move(item));
  }

  void add_edges(int to) {
    const Node& node = *problem_.items[static_cast<size_t>(to)].node;
    std::set<std::pair<const Node*, int>> seen;
    auto add = [&](const Node* from, int index) {
      const int item = item_of_[id_of(from)];
      if (item < 0 || from->op().name == "NextIteration" ||
          !seen.emplace(from, index).second)
        return;
      const int out = out_of(item, index);
      problem_.items[static_cast<size_t>(to)].inputs.push_back({item, out});
      problem_.items[static_cast<size_t>(item)]
          .outs[static_cast<size_t>(out)]
          .users.push_back(to);
    };
    for (const Value& input : node.inputs()) add(input.node, input.index);
    // Who gets a tensor of a node's need not be told that it has run.
    for (const Node* before : node.control_inputs())
      if (std::ranges::none_of(node.inputs(), [&](const Value& input) {
            return input.node == before;
          }))
        add(before, kControl);
  }

  // Its place among those of the item, which has one for each output in use.
  int out_of(int item, int index) {
    const auto [at, fresh] = outs_.emplace(std::pair(item, index), 0);
    if (!fresh) return at->second;
    auto& from = problem_.items[static_cast<size_t>(item)];
    at->second = static_cast<int>(from.outs.size());
    const double bytes =
        index == kControl ? 0
                          : costs_.bytes({const_cast<Node*>(from.node), index});
    from.outs.push_back({.bytes = bytes, .users = {}});
    return at->second;
  }

  static constexpr int kControl = -1;
  const PlacementRequest& request_;
  const NodeOrder& order_;
  const Candidates& candidates_;
  const CostModel estimates_;
  const CostModel& costs_;
  std::vector<int> item_of_;  // by node id
  std::map<std::pair<int, int>, int> outs_;
  PlacementProblem problem_;
};

}  // namespace

PlacementProblem make_problem(const Graph& graph,
                              const PlacementRequest& request,
                              const NodeOrder& order,
                              const Candidates& candidates) {
  return Maker(graph, request, order, candidates).make();
}

// With the times and transfers that an item has on average over the devices:
// where it will be is not known yet.
void set_priorities(PlacementProblem& problem) {
  double latency = 0, per_byte = 0;
  for (const DeviceLink& link : problem.links) {
    latency += link.latency / static_cast<double>(problem.links.size());
    per_byte +=
        1 / link.bytes_per_s / static_cast<double>(problem.links.size());
  }
  for (size_t i = problem.items.size(); i-- > 0;) {
    PlacementProblem::Item& item = problem.items[i];
    const auto& devices =
        problem.groups[static_cast<size_t>(item.group)].devices;
    double own = 0;
    for (const int d : devices)
      own += item.seconds[static_cast<size_t>(d)] /
             static_cast<double>(devices.size());
    double rest = 0;
    for (const PlacementProblem::Out& out : item.outs) {
      const double way = item.copied ? 0 : latency + out.bytes * per_byte;
      for (const int user : out.users)
        rest = std::max(
            rest, way + problem.items[static_cast<size_t>(user)].priority);
    }
    item.priority = own + rest;
  }
}

}  // namespace rondo
