// StepTrace: some steps of a training as one Chrome trace of all workers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// Of a run's steps, which begin with 1.
struct StepRange {
  int64_t first = 1;
  int64_t last = 1;
  bool operator==(const StepRange&) const = default;
};

// "10:14".
Result<StepRange> parse_step_range(std::string_view text);
// What `text` says, of a run of so many steps; empty: a few steps behind the
// first ones, which are slower, or the last ones of a short run.
Result<StepRange> traced_steps(std::string_view text, int64_t steps);

// All workers trace the same steps. One thread.
class StepTrace {
 public:
  StepTrace(std::string path, StepRange steps)
      : path_(std::move(path)), steps_(steps) {}

  const std::string& path() const { return path_; }
  const StepRange& steps() const { return steps_; }
  bool contains(int64_t step) const {
    return step >= steps_.first && step <= steps_.last;
  }
  // Whether what the file has is complete with this step.
  bool ends_with(int64_t step) const { return step == steps_.last; }
  // Of the steps that it contains; made with the first of them.
  Timeline& timeline();
  // When a step was under way: its batch was made until `made`.
  void add(int64_t step, Clock::time_point start, Clock::time_point made,
           Clock::time_point end);
  // What was traced since then.
  std::vector<Timeline::Event> events_since(Clock::time_point start) const;
  // The file: what all workers traced.
  Status write(const std::string& text) const;

 private:
  const std::string path_;
  const StepRange steps_;
  std::optional<Timeline> timeline_;
};

}  // namespace rondo
