#include "rondo/runtime/session_placement.h"

#include <algorithm>

#include "rondo/runtime/contention.h"

namespace rondo {
namespace {

std::vector<DeviceInfo> device_infos(const SessionPlacementOptions& options) {
  std::vector<DeviceInfo> infos;
  for (const std::string& name : options.devices) {
    DeviceInfo info{.name = DeviceName::parse(name).value(),
                    .threads = std::max(1, options.inter_op_threads)};
    info.flops_per_s *= std::max(1, options.intra_op_threads);
    infos.push_back(std::move(info));
  }
  return infos;
}

int nodes_at_once(const SessionPlacementOptions& options) {
  return static_cast<int>(options.devices.size()) *
         std::max(1, options.inter_op_threads);
}

}  // namespace

SessionPlacement::SessionPlacement(const SessionPlacementOptions& options)
    : placement_(
          std::in_place_type<ConstraintPlacement>,
          PlacementOptions{.devices = options.devices, .soft = options.soft}) {
  if (options.kind != PlacementKind::kCost) return;
  CostPlacementOptions by_cost{.devices = device_infos(options),
                               .soft = options.soft};
  if (options.one_process)
    by_cost.measure_contention = [nodes = nodes_at_once(options),
                                  threads = options.intra_op_threads] {
      return measure_contention(nodes, std::max(1, threads));
    };
  placement_.emplace<CostPlacement>(std::move(by_cost));
}

void SessionPlacement::serve(MasterOptions& options) {
  std::visit(
      [&](auto& placement) {
        options.place = [&](const Graph& graph, Subgraph& step) {
          return placement.place(graph, step);
        };
        options.explain = [&](const Graph& graph, Subgraph& step) {
          return placement.explain(graph, step);
        };
      },
      placement_);
  auto* const by_cost = std::get_if<CostPlacement>(&placement_);
  if (!by_cost) return;
  options.delay = by_cost->delays();
  options.wants_times = CostPlacement::wants_times;
  options.place_again = [by_cost](const Graph& graph, const Timeline& times,
                                  int64_t run, Subgraph& step) {
    return by_cost->after_run(graph, times, run, step);
  };
}

}  // namespace rondo
