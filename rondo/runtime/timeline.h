// Timeline: when each node of a run started and ended, for a Chrome trace.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/export.h"

namespace rondo {

// Filled by the threads of a run; read when it is over.
class RONDO_API Timeline {
 public:
  struct Event {
    std::string node;
    std::string op;
    double start_us = 0;  // since the timeline was made
    double us = 0;
    int thread = 0;
    std::string device;  // empty where there is only one
    // Of what it gave, one for each output; none where nobody counted.
    std::vector<double> bytes = {};
  };

  void add(std::string node, std::string op, Clock::time_point start,
           Clock::time_point end, std::string_view device = {},
           std::vector<double> bytes = {});
  // An event of another process; its times are made to fit by the caller.
  void add(Event event);
  std::vector<Event> events() const;
  // When it was made, and the time since.
  Clock::time_point origin() const { return origin_; }
  double now_us() const;
  // As chrome://tracing and Perfetto read it.
  std::string to_json() const;

 private:
  const Clock::time_point origin_ = Clock::now();
  mutable std::mutex mutex_;
  std::vector<Event> events_;       // guarded by mutex_
  std::vector<size_t> thread_ids_;  // guarded by mutex_
};

}  // namespace rondo
