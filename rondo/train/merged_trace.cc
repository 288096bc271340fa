#include "rondo/train/merged_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "rondo/runtime/trace_lines.h"
#include "rondo/train/clock_offset.h"
#include "rondo/train/exchange_names.h"
#include "rondo/transport/card.h"

namespace rondo {
namespace {

// Lanes that belong together: steps, those of a thread, exchanges, which are
// last.
constexpr int kSteps = -1;
constexpr int kExchanges = INT32_MAX;

// Times of events that follow each other may differ by the rounding of a sum.
constexpr double kNanosecond = 1e-3;

int lanes_of(const Timeline::Event& event) {
  if (is_exchange(event.op)) return kExchanges;
  return std::max(event.thread, kSteps);
}

std::string name_of(int lanes, size_t number) {
  const std::string name = lanes == kSteps ? "steps"
                           : lanes == kExchanges
                               ? "exchanges"
                               : fmt::format("thread {}", lanes);
  return number == 0 ? name : fmt::format("{} ({})", name, number + 1);
}

double end_of(const Timeline::Event& event) {
  return event.start_us + event.us;
}

using Lane = std::vector<const Timeline::Event*>;

// Each event in the first lane that is free when it begins.
std::vector<Lane> without_overlaps(const Lane& events) {
  std::vector<Lane> lanes;
  for (const Timeline::Event* event : events) {
    auto at = std::ranges::find_if(lanes, [&](const Lane& lane) {
      return end_of(*lane.back()) <= event->start_us + kNanosecond;
    });
    if (at == lanes.end()) at = lanes.emplace(lanes.end());
    at->push_back(event);
  }
  return lanes;
}

int64_t ns_of(Clock::time_point time, Duration offset) {
  return std::chrono::duration_cast<Duration>(time.time_since_epoch() + offset)
      .count();
}

int64_t ns_of(double us) { return static_cast<int64_t>(us * 1e3); }

// The text of each rank comes to rank 0.
Result<std::string> gathered(Communicator& comm, const std::string& mine) {
  const auto size = static_cast<int64_t>(mine.size());
  std::vector<int64_t> sizes(static_cast<size_t>(comm.size()));
  RONDO_RETURN_IF_ERROR(
      comm.allgather(ConstView(std::span(&size, 1)), View(sizes)));
  if (comm.rank() != 0) {
    RONDO_RETURN_IF_ERROR(
        comm.send(ConstView(mine.data(), size, DType::kU8), 0));
    return std::string();
  }
  TraceLines all;
  all.add(mine);
  for (int rank = 1; rank < comm.size(); ++rank) {
    std::string theirs(static_cast<size_t>(sizes[static_cast<size_t>(rank)]),
                       '\0');
    RONDO_RETURN_IF_ERROR(comm.recv(
        View(theirs.data(), static_cast<int64_t>(theirs.size()), DType::kU8),
        rank));
    all.add(theirs);
  }
  return all.to_json();
}

std::string process_name(int rank) {
  return fmt::format("rank {} ({}, pid {})", rank, host_name(), ::getpid());
}

}  // namespace

std::string trace_lines(int rank, const std::string& name,
                        std::vector<Timeline::Event> events) {
  std::ranges::sort(events, {}, &Timeline::Event::start_us);
  std::map<int, Lane> together;
  for (const Timeline::Event& event : events)
    together[lanes_of(event)].push_back(&event);
  TraceLines lines;
  lines.name_process(rank, name);
  int lane = 0;
  for (const auto& [key, members] : together) {
    const std::vector<Lane> lanes = without_overlaps(members);
    for (size_t number = 0; number < lanes.size(); ++number, ++lane) {
      lines.name_lane(rank, lane, name_of(key, number));
      for (const Timeline::Event* event : lanes[number])
        lines.add(*event, rank, lane);
    }
  }
  return lines.text();
}

std::string trace_of(const Timeline& timeline) {
  TraceLines lines;
  lines.add(trace_lines(0, process_name(0), timeline.events()));
  return lines.to_json();
}

Result<std::string> merged_trace(Communicator& comm, const Timeline& timeline) {
  RONDO_ASSIGN_OR_RETURN(const Duration offset, clock_offset(comm));
  std::vector<Timeline::Event> events = timeline.events();
  const int64_t origin = ns_of(timeline.origin(), offset);
  int64_t first = INT64_MAX;
  for (const Timeline::Event& event : events)
    first = std::min(first, origin + ns_of(event.start_us));
  RONDO_RETURN_IF_ERROR(
      comm.allreduce(View(std::span(&first, 1)), {.op = ReduceOp::kMin}));
  for (Timeline::Event& event : events)
    event.start_us += static_cast<double>(origin - first) / 1e3;
  return gathered(comm, trace_lines(comm.rank(), process_name(comm.rank()),
                                    std::move(events)));
}

}  // namespace rondo
