#include "rondo/runtime/cost_placement.h"

#include <algorithm>
#include <bit>

#include "rondo/graph/passes/passes.h"
#include "rondo/graph/placement/resources.h"
#include "rondo/kernels/kernel_registry.h"
#include "rondo/runtime/step_times.h"

namespace rondo {
namespace {

constexpr int64_t kTimedRuns = 1024;

// Steps of the same nodes are one, whatever is fetched of them.
std::string key_of(const Graph& step) {
  std::string key;
  for (const auto& node : step.nodes()) key += node->name() + '\n';
  return key;
}

bool has_kernel(const Node& node, const DeviceInfo& device,
                const DeviceName& client) {
  if (node.op().name == "HostCall" &&
      (device.name.job != client.job || device.name.task != client.task))
    return false;
  const KernelRegistry& kernels = KernelRegistry::process();
  // What no kernel is for, a step does by itself.
  return kernels.has(node.op().name, *device.name.type) ||
         !kernels.has(node.op().name, "cpu");
}

void set_devices(const Placement& placement, Subgraph& step) {
  for (const auto& node : step.graph->nodes())
    node->set_device(placement.device_of(*node));
}

}  // namespace

CostPlacement::CostPlacement(CostPlacementOptions options)
    : options_(std::move(options)) {}

PlacementRequest CostPlacement::request(const Subgraph& step) const {
  PlacementRequest request;
  for (const Node* node : ordered_nodes(step)) request.step.push_back(node);
  request.devices = options_.devices;
  request.costs = &costs_;
  request.contention = contention_.middle();
  request.has_kernel = [client = options_.devices[0].name](
                           const Node& node, const DeviceInfo& device) {
    return has_kernel(node, device, client);
  };
  request.soft = options_.soft;
  request.previous = &before_;
  return request;
}

// A step that changes a variable need not have the node that says where it is.
void CostPlacement::find_state(const Graph& graph) {
  for (; seen_ < graph.nodes().size(); ++seen_) {
    const Node& node = *graph.nodes()[seen_];
    if (node.device().empty()) continue;
    const auto wanted = DeviceName::parse(node.device());
    if (!wanted.ok()) continue;
    for (const ResourceUse& use : resources_of_node(node)) {
      // What changes a variable does not say where that is.
      if (!use.kept || use.task_only || (use.kind == "variable" && !use.owner))
        continue;
      for (const DeviceInfo& device : options_.devices) {
        if (!wanted->matches(device.name)) continue;
        before_.state.emplace(to_string(use), device.name.to_string());
        break;
      }
    }
  }
}

Result<Placement> CostPlacement::find(const Graph& graph,
                                      const Subgraph& step) {
  const auto at = placed_.find(key_of(*step.graph));
  if (at != placed_.end()) return at->second;
  find_state(graph);
  return rondo::place(*step.graph, request(step));
}

Status CostPlacement::place(const Graph& graph, Subgraph& step) {
  share_common(step);
  RONDO_ASSIGN_OR_RETURN(Placement placement, find(graph, step));
  for (const auto& [what, device] : placement.state)
    before_.state.emplace(what, device);
  const std::string key = key_of(*step.graph);
  set_devices(placement, step);
  placed_.insert_or_assign(key, std::move(placement));
  return {};
}

bool CostPlacement::wants_times(int64_t run) {
  if (run <= 1 || run > kTimedRuns) return false;
  const auto number = static_cast<uint64_t>(run);
  return std::bit_ceil(number) - number <= 2;
}

Result<bool> CostPlacement::after_run(const Graph& graph, const Timeline& times,
                                      int64_t run, Subgraph& step) {
  share_common(step);
  int64_t& due = due_[key_of(*step.graph)];
  if (run < due) {
    learn(graph, times, step);
    return false;
  }
  due = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(run) + 1));
  return place_again(graph, times, step);
}

void CostPlacement::learn(const Graph& graph, const Timeline& times,
                          Subgraph& step) {
  share_common(step);
  const auto at = placed_.find(key_of(*step.graph));
  if (at == placed_.end()) return;
  find_state(graph);
  record_times(times, *step.graph, at->second, contention_.middle(), costs_);
}

Result<bool> CostPlacement::place_again(const Graph& graph,
                                        const Timeline& times, Subgraph& step) {
  if (options_.measure_contention)
    contention_.add(options_.measure_contention());
  learn(graph, times, step);
  const auto at = placed_.find(key_of(*step.graph));
  if (at == placed_.end()) return false;
  Placement old = at->second;
  old.state = before_.state;
  RONDO_ASSIGN_OR_RETURN(Replacement again,
                         replace_pays(*step.graph, old, request(step)));
  // Either way, explain() tells what the step takes by what is known now.
  at->second = std::move(again.pays ? again.placement : again.old);
  if (!again.pays) return false;
  set_devices(at->second, step);
  return true;
}

Result<std::string> CostPlacement::explain(const Graph& graph, Subgraph& step) {
  share_common(step);
  RONDO_ASSIGN_OR_RETURN(const Placement placement, find(graph, step));
  return rondo::explain(placement);
}

const DeviceInfo* CostPlacement::device(const std::string& name) const {
  const auto at = std::ranges::find_if(
      options_.devices,
      [&](const DeviceInfo& one) { return one.name.to_string() == name; });
  return at == options_.devices.end() ? nullptr : &*at;
}

DelayOptions CostPlacement::delays() const {
  DelayOptions delays;
  delays.run_time = [this](const Node& node) {
    const DeviceInfo* const there = device(node.device());
    return there ? costs_.seconds(node, {there, 1})[0] : 0;
  };
  delays.transfer_time = [this](const TensorTransfer& transfer, double bytes) {
    const DeviceInfo* const from = device(transfer.from);
    const DeviceInfo* const to = device(transfer.to);
    if (!from || !to || !costs_.has_transfer(transfer.from, transfer.to) ||
        (from->name.job == to->name.job && from->name.task == to->name.task))
      return 0.0;
    const DeviceLink link = costs_.link(*from, *to, {});
    return link.latency + bytes / link.bytes_per_s;
  };
  return delays;
}

}  // namespace rondo
