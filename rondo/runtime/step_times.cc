#include "rondo/runtime/step_times.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "rondo/runtime/work_clock.h"

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

WorkClock clock_of(const std::vector<Event>& events, const Graph& step,
                   std::span<const double> contention) {
  std::vector<WorkClock::Run> runs;
  for (const Event& event : events)
    if (const Node* node = node_of(step, event); node && !node->op().waits)
      runs.push_back({event.start_us, event.start_us + event.us});
  return {runs, contention};
}

// When the operations of a device ran.
class Work {
 public:
  explicit Work(std::vector<Event> events) : events_(std::move(events)) {
    std::ranges::sort(events_, {}, &Event::start_us);
    double latest = 0;
    for (const Event& event : events_)
      ends_.push_back(latest = std::max(latest, event.start_us + event.us));
  }
  // How long the device slept on after a Recv that ended at `us`; 0 when an
  // operation was running, and when another Recv woke it.
  double sleep_after(double us) const {
    const auto next =
        std::ranges::upper_bound(events_, us, {}, &Event::start_us);
    if (next == events_.end() || next->op == "Recv") return 0;
    const auto at = static_cast<size_t>(next - events_.begin());
    return at > 0 && ends_[at - 1] > us ? 0 : next->start_us - us;
  }

 private:
  std::vector<Event> events_;  // by their start
  std::vector<double> ends_;   // of each and those before it, the latest
};

// What each device did. A Recv is there as an instant, its end.
std::map<std::string, Work> work_of(const std::vector<Event>& events) {
  std::map<std::string, std::vector<Event>> by_device;
  for (Event event : events) {
    if (event.op == "Send") continue;
    if (event.op == "Recv") {
      event.start_us += event.us;
      event.us = 0;
    }
    by_device[event.device].push_back(std::move(event));
  }
  std::map<std::string, Work> work;
  for (auto& [device, done] : by_device) work.emplace(device, std::move(done));
  return work;
}

// From the start of the Send, or of the Recv where that came to wait later, to
// the end of the Recv, and until a device that slept has woken up.
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
  const std::map<std::string, Work> work = work_of(events);
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
    const double end = event.start_us + event.us;
    const double us = end - std::max(found->second, event.start_us) +
                      work.at(event.device).sleep_after(end);
    if (us > 0)
      costs.record_transfer(from, event.device, costs.bytes(value), us / 1e6);
  }
}

}  // namespace

const Node* node_of(const Graph& step, const Event& event) {
  return step.find(plain_name(event.node));
}

void record_times(const Timeline& times, const Graph& step,
                  const Placement& placed, std::span<const double> contention,
                  CostModel& costs) {
  const std::vector<Event> events = times.events();
  const WorkClock clock = clock_of(events, step, contention);
  // All iterations of a loop together.
  std::unordered_map<std::string_view, double> seconds;
  for (const Event& event : events) {
    const Node* node = node_of(step, event);
    if (!node) continue;
    // Who waits for an element or a lock does no work meanwhile.
    seconds[node->name()] +=
        node->op().waits
            ? 0
            : clock.alone({event.start_us, event.start_us + event.us}) / 1e6;
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
