#include "rondo/runtime/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace rondo {
namespace {

double microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
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
  const std::vector<Event> all = events();
  std::vector<std::string> devices;
  std::string text;
  auto add = [&](const std::string& line) {
    text += fmt::format("{}\n{}", text.empty() ? "" : ",", line);
  };
  for (const Event& event : all) {
    auto at = std::find(devices.begin(), devices.end(), event.device);
    if (at == devices.end()) {
      at = devices.insert(at, event.device);
      if (!event.device.empty())
        add(
            fmt::format("{{\"name\": \"process_name\", \"ph\": \"M\", "
                        "\"pid\": {}, \"args\": {{\"name\": {}}}}}",
                        devices.size() - 1, quoted(event.device)));
    }
    add(fmt::format(
        "{{\"name\": {}, \"cat\": {}, \"ph\": \"X\", \"ts\": {:.3f}, "
        "\"dur\": {:.3f}, \"pid\": {}, \"tid\": {}, \"args\": {{\"op\": {}}}}}",
        quoted(event.node), quoted(event.op), event.start_us, event.us,
        at - devices.begin(), event.thread, quoted(event.op)));
  }
  return fmt::format("{{\"traceEvents\": [{}\n]}}\n", text);
}

}  // namespace rondo
