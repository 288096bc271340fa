#include "rondo/trainer/step_trace.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

namespace rondo {
namespace {

constexpr StepRange kUsual = {10, 14};

bool parse_number(std::string_view text, int64_t& number) {
  const char* end = text.data() + text.size();
  const auto [at, failure] = std::from_chars(text.data(), end, number);
  return failure == std::errc() && at == end;
}

}  // namespace

Result<StepRange> parse_step_range(std::string_view text) {
  StepRange range;
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos &&
      parse_number(text.substr(0, colon), range.first) &&
      parse_number(text.substr(colon + 1), range.last) && range.first >= 1 &&
      range.last >= range.first)
    return range;
  return error(Code::kInvalidArgument,
               "--trace-steps {}: expected the first and the last step, such "
               "as 10:14",
               text);
}

Result<StepRange> traced_steps(std::string_view text, int64_t steps) {
  if (text.empty()) {
    const int64_t last = std::min(kUsual.last, steps);
    return StepRange{std::max<int64_t>(1, last - kUsual.last + kUsual.first),
                     last};
  }
  RONDO_ASSIGN_OR_RETURN(const StepRange range, parse_step_range(text));
  if (range.last <= steps) return range;
  return error(Code::kInvalidArgument,
               "--trace-steps {}: this run has only {} steps", text, steps);
}

Timeline& StepTrace::timeline() {
  if (!timeline_) timeline_.emplace();
  return *timeline_;
}

void StepTrace::add(int64_t step, Clock::time_point start,
                    Clock::time_point made, Clock::time_point end) {
  const auto since = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - timeline().origin())
        .count();
  };
  const auto add_event = [&](std::string name, const char* kind,
                             Clock::time_point from, Clock::time_point to) {
    timeline().add(Timeline::Event{.node = std::move(name),
                                   .op = kind,
                                   .start_us = since(from),
                                   .us = since(to) - since(from),
                                   .thread = -1});
  };
  add_event(fmt::format("input {}", step), "Input", start, made);
  add_event(fmt::format("step {}", step), "Step", made, end);
}

std::vector<Timeline::Event> StepTrace::events_since(
    Clock::time_point start) const {
  if (!timeline_) return {};
  const double since =
      std::chrono::duration<double, std::micro>(start - timeline_->origin())
          .count();
  std::vector<Timeline::Event> events = timeline_->events();
  std::erase_if(events, [&](const Timeline::Event& event) {
    return event.start_us < since;
  });
  return events;
}

Status StepTrace::write(const std::string& text) const {
  std::ofstream file(path_, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  return error(Code::kResource, "--trace: cannot write \"{}\": {}", path_,
               std::strerror(errno));
}

}  // namespace rondo
