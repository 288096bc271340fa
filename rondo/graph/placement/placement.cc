#include "rondo/graph/placement/placement.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "rondo/graph/placement/list_scheduler.h"
#include "rondo/graph/placement/reasons.h"
#include "rondo/graph/placement/resources.h"
#include "rondo/graph/placement/search.h"

namespace rondo {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

Status check(const Graph& graph, const PlacementRequest& request) {
  if (request.devices.empty())
    return error(Code::kInvalidArgument,
                 "there is no device to place the graph on");
  std::set<std::string> names;
  for (const DeviceInfo& device : request.devices) {
    const std::string name = device.name.to_string();
    if (!device.name.type || !device.name.index)
      return error(Code::kInvalidArgument,
                   "the device \"{}\" needs a type and a number, such as "
                   "/cpu:0",
                   name);
    if (!names.insert(name).second)
      return error(Code::kInvalidArgument, "the device {} is there twice",
                   name);
    if (!(device.flops_per_s > 0) || !(device.bytes_per_s > 0))
      return error(Code::kInvalidArgument,
                   "the rates of the device {} are {} flop/s and {} bytes/s: "
                   "expected more than 0",
                   name, device.flops_per_s, device.bytes_per_s);
  }
  for (const double slower : request.contention)
    if (!(slower >= 1))
      return error(Code::kInvalidArgument,
                   "nodes that run at once take {} times as long: expected at "
                   "least 1",
                   slower);
  for (const Node* node : request.step)
    if (!node || &node->graph() != &graph)
      return error(Code::kInvalidArgument,
                   "a node of the step is not of the graph");
  return {};
}

// Each group where an earlier placement has its first node, if it may be there;
// else as in `first`.
Assignment as_before(const PlacementRequest& request,
                     const Candidates& candidates, const Assignment& first) {
  std::unordered_map<std::string, int> number;
  for (const DeviceInfo& device : request.devices)
    number.emplace(device.name.to_string(), static_cast<int>(number.size()));
  std::unordered_map<std::string_view, int> before;
  for (const PlacedNode& node : request.previous->nodes)
    if (const auto at = number.find(node.device); at != number.end())
      before.emplace(node.name, at->second);
  Assignment assignment = first;
  for (size_t g = 0; g < assignment.size(); ++g) {
    const auto found = before.find(candidates.groups[g].nodes[0]->name());
    if (found != before.end() &&
        std::ranges::binary_search(candidates.groups[g].devices, found->second))
      assignment[g] = found->second;
  }
  return assignment;
}

// Nodes that the step does not run go where a neighbour is, if they may.
void place_the_rest(const Graph& graph, const Candidates& candidates,
                    const PlacementProblem& problem, Assignment& assignment) {
  std::vector<bool> settled(problem.groups.size());
  for (size_t g = 0; g < problem.groups.size(); ++g)
    settled[g] = !problem.groups[g].items.empty() ||
                 problem.groups[g].devices.size() == 1;
  const auto settle = [&](const Node* node, const Node* beside) {
    const int group = candidates.group_of[at(node->id())];
    const int other = candidates.group_of[at(beside->id())];
    if (settled[at(group)] || !settled[at(other)]) return;
    const int device = assignment[at(other)];
    if (!std::ranges::binary_search(problem.groups[at(group)].devices, device))
      return;
    assignment[at(group)] = device;
    settled[at(group)] = true;
  };
  for (const auto& node : graph.nodes())
    for (const Value& input : node->inputs()) settle(node.get(), input.node);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node)
    for (const Value& input : (*node)->inputs())
      settle(input.node, node->get());
}

Status check_memory(const PlacementRequest& request,
                    const PlacementProblem& problem,
                    const Assignment& assignment) {
  for (int d = 0; d < problem.devices; ++d) {
    double used = 0;
    size_t most = 0;
    for (size_t g = 0; g < problem.groups.size(); ++g) {
      if (assignment[g] != d) continue;
      used += problem.groups[g].state_bytes;
      if (problem.groups[g].state_bytes > problem.groups[most].state_bytes ||
          assignment[most] != d)
        most = g;
    }
    const double memory = problem.memory[at(d)];
    if (memory <= 0 || used <= memory) continue;
    const std::string largest =
        problem.groups[most].items.empty()
            ? ""
            : fmt::format("; the largest are {:.0f} bytes, with {}",
                          problem.groups[most].state_bytes,
                          problem.items[at(problem.groups[most].items[0])]
                              .node->describe());
    return error(Code::kResource,
                 "the variables and constants do not fit: those that go to {} "
                 "have {:.0f} bytes, and it has room for {:.0f}{}. Give it "
                 "more, or the job more devices",
                 request.devices[at(d)].name.to_string(), used, memory,
                 largest);
  }
  return {};
}

void add_loads(const PlacementRequest& request, const PlacementProblem& problem,
               const Assignment& assignment, const Schedule& schedule,
               Placement& placement) {
  const auto name = [&](int d) {
    return request.devices[at(d)].name.to_string();
  };
  for (int d = 0; d < problem.devices; ++d)
    placement.devices.push_back(
        {.device = name(d), .busy_seconds = schedule.busy[at(d)]});
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    DeviceLoad& load = placement.devices[at(assignment[g])];
    load.nodes += static_cast<int>(problem.groups[g].items.size());
    load.state_bytes += problem.groups[g].state_bytes;
  }
  for (int from = 0; from < problem.devices; ++from)
    for (int to = 0; to < problem.devices; ++to) {
      const auto& use = schedule.links[at(from * problem.devices + to)];
      if (use.tensors > 0)
        placement.links.push_back(
            {name(from), name(to), use.tensors, use.bytes, use.busy});
    }
}

}  // namespace

Result<Placement> place(const Graph& graph, const PlacementRequest& request) {
  RONDO_RETURN_IF_ERROR(check(graph, request));
  RONDO_ASSIGN_OR_RETURN(const NodeOrder order, order_nodes(graph));
  Colocation together(graph, order);
  RONDO_ASSIGN_OR_RETURN(const Candidates candidates,
                         find_candidates(graph, request, together));
  const PlacementProblem problem =
      make_problem(graph, request, order, candidates);
  Simulator simulator(problem);
  const ListSchedule first = list_schedule(problem);
  PlacementSearch search(problem, simulator, request.budget);
  std::vector<Assignment> starts;
  // What is as good as anything new stays.
  if (request.previous)
    starts.push_back(as_before(request, candidates, first.assignment));
  starts.push_back(first.assignment);
  Found found = search.best_from(starts);
  place_the_rest(graph, candidates, problem, found.assignment);
  RONDO_RETURN_IF_ERROR(check_memory(request, problem, found.assignment));

  Placement placement;
  placement.notes = candidates.notes;
  placement.one_device_seconds =
      simulator.run(search.one_device().assignment).seconds;
  placement.one_device = request.devices[at(search.device())].name.to_string();
  const Schedule schedule = simulator.run(found.assignment);
  placement.step_seconds = schedule.seconds;
  add_loads(request, problem, found.assignment, schedule, placement);
  Reasons reasons(request, problem, candidates, together, simulator, first,
                  found.assignment, schedule.seconds);
  for (const auto& node : graph.nodes()) {
    const int group = candidates.group_of[at(node->id())];
    const std::string device =
        request.devices[at(found.assignment[at(group)])].name.to_string();
    for (const ResourceUse& use : resources_of_node(*node))
      if (use.kept && !use.task_only) placement.state[to_string(use)] = device;
    placement.nodes.push_back({node->name(), std::string(node->op().name),
                               device, reasons.of(*node)});
  }
  placement.evaluations = simulator.runs();
  placement.contention = request.contention;
  return placement;
}

Result<Replacement> replace_pays(const Graph& graph, const Placement& old,
                                 const PlacementRequest& request,
                                 double least_gain) {
  PlacementRequest again = request;
  again.previous = &old;
  Replacement out;
  RONDO_ASSIGN_OR_RETURN(out.placement, place(graph, again));
  // The old one is asked for, node by node, and so timed by the same rules.
  if (old.nodes.size() != graph.nodes().size())
    return error(Code::kInvalidArgument,
                 "the old placement is of {} nodes, the graph has {}",
                 old.nodes.size(), graph.nodes().size());
  const auto asked = graph.clone();
  for (const auto& node : asked->nodes())
    node->set_device(old.device_of(*node));
  again.budget.evaluations = 0;
  for (const Node*& node : again.step)
    node = asked->nodes()[at(node->id())].get();
  RONDO_ASSIGN_OR_RETURN(out.old, place(*asked, again));
  out.pays =
      out.placement.step_seconds <= (1 - least_gain) * out.old.step_seconds;
  // Why its nodes are where they are has not changed, and of one device that
  // knows nothing that was told where each node goes.
  out.old.nodes = old.nodes;
  out.old.notes = old.notes;
  out.old.evaluations = old.evaluations;
  out.old.one_device = out.placement.one_device;
  out.old.one_device_seconds = out.placement.one_device_seconds;
  return out;
}

}  // namespace rondo
