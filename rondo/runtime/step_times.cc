#include "rondo/runtime/step_times.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

namespace rondo {
namespace {

using Event = Timeline::Event;

// The node that an event is of: a fused one goes by the last of its nodes.
std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kFused = "fused/";
  return name.starts_with(kFused) ? name.substr(kFused.size()) : name;
}

// The value that "name/recv" or "name_1/recv" gets.
Value value_of(const Graph& step, std::string_view base) {
  if (Node* node = step.find(base)) return node->output(0);
  const size_t line = base.rfind('_');
  if (line == std::string_view::npos) return {};
  Node* node = step.find(base.substr(0, line));
  int output = 0;
  const std::string_view digits = base.substr(line + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), output);
  if (!node || output < 0 || output >= static_cast<int>(node->outputs().size()))
    return {};
  return node->output(output);
}

// From the start of the Send, or of the Recv where that came to wait later, to
// the end of the Recv.
void record_transfers(const std::vector<Event>& events, const Graph& step,
                      const Placement& placed, CostModel& costs) {
  constexpr std::string_view kRecv = "/recv";
  // By "device name", the name without what tells it from others.
  std::map<std::string, double> sent;
  const auto key = [](const std::string& device, std::string_view base) {
    return fmt::format("{} {}", device, base);
  };
  for (const Event& event : events) {
    const size_t at = event.node.rfind("/send");
    if (event.op != "Send" || at == std::string::npos) continue;
    const auto [found, fresh] = sent.emplace(
        key(event.device, std::string_view(event.node).substr(0, at)),
        event.start_us);
    if (!fresh) found->second = std::min(found->second, event.start_us);
  }
  for (const Event& event : events) {
    if (event.op != "Recv" || !event.node.ends_with(kRecv)) continue;
    const std::string_view base =
        std::string_view(event.node)
            .substr(0, event.node.size() - kRecv.size());
    const Value value = value_of(step, base);
    if (!value) continue;
    const std::string& from = placed.device_of(*value.node);
    const auto found = sent.find(key(from, base));
    if (found == sent.end()) continue;
    const double us =
        event.start_us + event.us - std::max(found->second, event.start_us);
    if (us > 0)
      costs.record_transfer(from, event.device, costs.bytes(value), us / 1e6);
  }
}

}  // namespace

void record_times(const Timeline& times, const Graph& step,
                  const Placement& placed, CostModel& costs) {
  const std::vector<Event> events = times.events();
  // All iterations of a loop together.
  std::unordered_map<std::string_view, double> seconds;
  for (const Event& event : events) {
    const std::string_view name = plain_name(event.node);
    const Node* node = step.find(name);
    if (!node) continue;
    // Who waits for an element or a lock does no work meanwhile.
    seconds[node->name()] += node->op().waits ? 0 : event.us / 1e6;
    for (size_t i = 0; i < event.bytes.size() && i < node->outputs().size();
         ++i)
      costs.record_output(node->name(), static_cast<int>(i), event.bytes[i]);
  }
  for (const auto& node : step.nodes()) {
    if (node->op().name == "Placeholder") continue;
    // What did not run is part of a fused node, was folded, or was not needed.
    const auto found = seconds.find(node->name());
    costs.record_run(node->name(), placed.device_of(*node),
                     found == seconds.end() ? 0 : found->second);
  }
  record_transfers(events, step, placed, costs);
}

}  // namespace rondo
