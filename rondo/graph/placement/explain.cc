#include <algorithm>

#include "rondo/graph/placement/placement.h"
#include "rondo/graph/placement/reasons.h"

namespace rondo {
namespace {

using Row = std::vector<std::string>;

// Columns as wide as their longest cell; the last is as it comes.
std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i)
      text += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += row.back() + "\n";
  }
  return text;
}

std::string size(double bytes) {
  if (bytes < 1e4) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e7) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.1f} MB", bytes / 1e6);
}

}  // namespace

std::string explain(const Placement& placement) {
  std::vector<Row> nodes = {{"node", "operation", "device", "why"}};
  for (const PlacedNode& node : placement.nodes)
    nodes.push_back({node.name, node.op, node.device, node.why});
  std::string text = table(nodes);
  for (const std::string& note : placement.notes)
    text += fmt::format("note: {}\n", note);
  text += fmt::format(
      "\npredicted step: {}; all on {}: {}; {} simulations\n\n",
      milliseconds(placement.step_seconds), placement.one_device,
      milliseconds(placement.one_device_seconds), placement.evaluations);
  if (!placement.contention.empty())
    text += fmt::format(
        "nodes that run at once take longer: {:.2f} times where there are "
        "two\n\n",
        placement.contention[0]);
  std::vector<Row> devices = {{"device", "nodes", "busy", "state"}};
  for (const DeviceLoad& load : placement.devices)
    devices.push_back({load.device, fmt::format("{}", load.nodes),
                       milliseconds(load.busy_seconds),
                       size(load.state_bytes)});
  text += table(devices);
  if (placement.links.empty()) return text;
  std::vector<Row> links = {{"from", "to", "tensors", "bytes", "busy"}};
  for (const LinkLoad& load : placement.links)
    links.push_back({load.from, load.to, fmt::format("{}", load.tensors),
                     size(load.bytes), milliseconds(load.busy_seconds)});
  return text + "\n" + table(links);
}

}  // namespace rondo
