#include "rondo/runtime/timeline.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "rondo/runtime/trace_lines.h"

namespace rondo {
namespace {

double microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

}  // namespace

void Timeline::add(std::string node, std::string op, Clock::time_point start,
                   Clock::time_point end, std::string_view device,
                   std::vector<double> bytes) {
  const size_t id = std::hash<std::thread::id>()(std::this_thread::get_id());
  const std::lock_guard lock(mutex_);
  auto at = std::find(thread_ids_.begin(), thread_ids_.end(), id);
  if (at == thread_ids_.end()) at = thread_ids_.insert(at, id);
  events_.push_back({std::move(node), std::move(op),
                     microseconds(start - origin_), microseconds(end - start),
                     static_cast<int>(at - thread_ids_.begin()),
                     std::string(device), std::move(bytes)});
}

void Timeline::add(Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

std::vector<Timeline::Event> Timeline::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

double Timeline::now_us() const { return microseconds(Clock::now() - origin_); }

std::string Timeline::to_json() const {
  // Each device is what the format calls a process.
  std::vector<std::string> devices;
  TraceLines lines;
  for (const Event& event : events()) {
    auto at = std::find(devices.begin(), devices.end(), event.device);
    const auto process = static_cast<int>(at - devices.begin());
    if (at == devices.end()) {
      devices.push_back(event.device);
      if (!event.device.empty()) lines.name_process(process, event.device);
    }
    lines.add(event, process, event.thread);
  }
  return lines.to_json();
}

}  // namespace rondo
