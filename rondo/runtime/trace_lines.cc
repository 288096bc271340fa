#include "rondo/runtime/trace_lines.h"

#include <fmt/format.h>

#include <numeric>

namespace rondo {
namespace {

std::string quoted(std::string_view text) {
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

void TraceLines::add(std::string_view lines) {
  if (lines.empty()) return;
  text_ += fmt::format("{}{}", text_.empty() ? "" : ",\n", lines);
}

void TraceLines::name_process(int process, std::string_view name) {
  add(
      fmt::format("{{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": {}, "
                  "\"args\": {{\"name\": {}}}}}",
                  process, quoted(name)));
  add(
      fmt::format("{{\"name\": \"process_sort_index\", \"ph\": \"M\", "
                  "\"pid\": {}, \"args\": {{\"sort_index\": {}}}}}",
                  process, process));
}

void TraceLines::name_lane(int process, int lane, std::string_view name) {
  add(
      fmt::format("{{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": {}, "
                  "\"tid\": {}, \"args\": {{\"name\": {}}}}}",
                  process, lane, quoted(name)));
  add(fmt::format(
      "{{\"name\": \"thread_sort_index\", \"ph\": \"M\", "
      "\"pid\": {}, \"tid\": {}, \"args\": {{\"sort_index\": {}}}}}",
      process, lane, lane));
}

void TraceLines::add(const Timeline::Event& event, int process, int lane) {
  const double bytes =
      std::accumulate(event.bytes.begin(), event.bytes.end(), 0.0);
  add(
      fmt::format("{{\"name\": {}, \"cat\": {}, \"ph\": \"X\", \"ts\": {:.3f}, "
                  "\"dur\": {:.3f}, \"pid\": {}, \"tid\": {}, "
                  "\"args\": {{\"op\": {}, \"bytes\": {:.0f}}}}}",
                  quoted(event.node), quoted(event.op), event.start_us,
                  event.us, process, lane, quoted(event.op), bytes));
}

std::string TraceLines::to_json() const {
  return fmt::format("{{\"traceEvents\": [\n{}\n]}}\n", text_);
}

}  // namespace rondo
