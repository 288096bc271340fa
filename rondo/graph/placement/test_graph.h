// Small graphs and devices for the tests of placement.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/placement/placement.h"

namespace rondo {

inline DeviceInfo device(std::string_view name) {
  return {.name = DeviceName::parse(name).value()};
}
inline std::string cpu(int i) {
  return fmt::format("/job:localhost/task:0/cpu:{}", i);
}
// cpu:0, cpu:1, … of one process.
inline std::vector<DeviceInfo> cpus(int count) {
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) devices.push_back(device(cpu(i)));
  return devices;
}
// The same link between all of them.
inline DeviceLinks links_of(const std::vector<DeviceInfo>& devices,
                            DeviceLink link) {
  DeviceLinks links;
  for (const DeviceInfo& a : devices)
    for (const DeviceInfo& b : devices)
      if (a.name != b.name)
        links[{a.name.to_string(), b.name.to_string()}] = link;
  return links;
}

// A graph whose nodes take and give what the test says: `seconds` on any
// device, and one tensor of `bytes`.
struct TimedGraph {
  Graph g;
  CostModel costs;

  Node& add(const std::string& name, const std::vector<Node*>& inputs,
            double seconds, double bytes = 0) {
    NodeArgs args{.op = "AddN", .name = name};
    for (Node* input : inputs) args.inputs.push_back(input->output());
    if (inputs.empty()) {
      args.op = "Variable";
      args.attrs = {{"shape", PartialShape{1}}};
    }
    Node& node = g.add(std::move(args));
    costs.record_run(node.name(), cpu(0), seconds);
    costs.record_output(node.name(), 0, bytes);
    return node;
  }
  PlacementRequest request(int devices, DeviceLink link) {
    PlacementRequest request;
    request.devices = cpus(devices);
    request.links = links_of(request.devices, link);
    request.costs = &costs;
    return request;
  }
};

}  // namespace rondo
