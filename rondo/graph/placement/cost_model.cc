#include "rondo/graph/placement/cost_model.h"

#include <algorithm>
#include <cmath>

namespace rondo {

CostModel::CostModel(CostModelOptions options) : options_(options) {}

const CostModel::Measured* CostModel::find(std::string_view node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second;
}

bool CostModel::has_run(std::string_view node) const {
  const Measured* measured = find(node);
  return measured && !measured->seconds.empty();
}

double CostModel::guess(const TensorType& type) const {
  double bytes = bytes_of(type);
  if (!type.shape.has_rank()) return bytes * options_.unknown_extent;
  for (const int64_t extent : type.shape.extents())
    if (extent == kAny) bytes *= options_.unknown_extent;
  return bytes;
}

double CostModel::bytes(const Value& value) const {
  const auto index = static_cast<size_t>(value.index);
  if (const Measured* measured = find(value.node->name()))
    if (index < measured->bytes.size() && measured->bytes[index] >= 0)
      return measured->bytes[index];
  return guess(value.node->outputs()[index]);
}

double CostModel::estimate(const Node& node, const DeviceInfo& device,
                           int loops) const {
  OpCost cost = cost_of(node);
  // Cost functions count what is unknown as 1. Work grows as the tensor of
  // which least is known, and the bytes by as much as all tensors are larger.
  double growth = 1, more = 0;
  auto look = [&](const Value& value, const TensorType& type) {
    const double known = std::max(bytes_of(type), 1.0);
    const double real = bytes(value);
    growth = std::max(growth, real / known);
    more += real - known;
  };
  for (const Value& input : node.inputs())
    look(input, input.node->outputs()[static_cast<size_t>(input.index)]);
  for (size_t i = 0; i < node.outputs().size(); ++i)
    look({const_cast<Node*>(&node), static_cast<int>(i)}, node.outputs()[i]);
  cost.flops *= growth;
  if (cost.bytes > 0) cost.bytes = std::max(0.0, cost.bytes + more);
  const double once =
      device.node_seconds + std::max(cost.flops / device.flops_per_s,
                                     cost.bytes / device.bytes_per_s);
  return once * std::pow(options_.loop_iterations, loops);
}

std::vector<double> CostModel::seconds(const Node& node,
                                       std::span<const DeviceInfo> devices,
                                       int loops) const {
  std::vector<double> times;
  for (const DeviceInfo& device : devices)
    times.push_back(estimate(node, device, loops));
  const Measured* measured = find(node.name());
  if (!measured || measured->seconds.empty()) return times;
  // On a device that has none of its own, the first one's measurement counts.
  double per_estimate = 0;
  std::vector<const double*> found(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    const auto at = measured->seconds.find(devices[d].name.to_string());
    if (at == measured->seconds.end()) continue;
    found[d] = &at->second;
    if (per_estimate == 0 && times[d] > 0) per_estimate = at->second / times[d];
  }
  for (size_t d = 0; d < devices.size(); ++d)
    if (found[d])
      times[d] = *found[d];
    else if (per_estimate > 0)
      times[d] *= per_estimate;
  return times;
}

DeviceLink CostModel::link(const DeviceInfo& from, const DeviceInfo& to,
                           const DeviceLinks& given) const {
  const auto key = std::pair(from.name.to_string(), to.name.to_string());
  DeviceLink link = default_link(from, to);
  if (const auto at = given.find(key); at != given.end()) link = at->second;
  const auto at = transfers_.find(key);
  if (at == transfers_.end()) return link;
  const Transfers& t = at->second;
  const double spread = t.xx - t.x * t.x;
  // Of transfers of nearly one size, only a speed or a latency can be told.
  if (spread > 0.01 * t.x * t.x) {
    const double slope = (t.xy - t.x * t.y) / spread;
    if (slope > 0) link.bytes_per_s = 1 / slope;
    link.latency = std::max(0.0, t.y - t.x / link.bytes_per_s);
  } else if (t.x / link.bytes_per_s < link.latency) {
    link.latency = t.y;
  } else {
    link.bytes_per_s = t.x / std::max(t.y - link.latency, 0.1 * t.y);
  }
  return link;
}

void CostModel::record_run(std::string_view node, const std::string& device,
                           double seconds) {
  auto& times = nodes_[std::string(node)].seconds;
  const auto [at, fresh] = times.emplace(device, seconds);
  if (!fresh) at->second += options_.newest * (seconds - at->second);
}

void CostModel::record_output(std::string_view node, int output, double bytes) {
  auto& sizes = nodes_[std::string(node)].bytes;
  const auto index = static_cast<size_t>(output);
  if (sizes.size() <= index) sizes.resize(index + 1, -1);
  double& size = sizes[index];
  size = size < 0 ? bytes : size + options_.newest * (bytes - size);
}

void CostModel::record_transfer(const std::string& from, const std::string& to,
                                double bytes, double seconds) {
  const auto [at, fresh] = transfers_.emplace(std::pair(from, to), Transfers());
  Transfers& t = at->second;
  const double part = fresh ? 1 : options_.newest;
  auto average = [&](double& to_change, double value) {
    to_change += part * (value - to_change);
  };
  average(t.x, bytes);
  average(t.y, seconds);
  average(t.xx, bytes * bytes);
  average(t.xy, bytes * seconds);
}

}  // namespace rondo
