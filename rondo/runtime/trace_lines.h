// TraceLines: a trace for chrome://tracing and Perfetto, put together.
//
// What the format calls a process is a device or a rank, a thread is a lane of
// it.
#pragma once

#include <string>
#include <string_view>

#include "rondo/runtime/timeline.h"

namespace rondo {

// The lines of a trace: comma between them, no brackets around. One thread.
class RONDO_API TraceLines {
 public:
  // Processes are shown by number; so are the lanes of one.
  void name_process(int process, std::string_view name);
  void name_lane(int process, int lane, std::string_view name);
  void add(const Timeline::Event& event, int process, int lane);
  // Lines of another one, as text() gave them.
  void add(std::string_view lines);

  const std::string& text() const { return text_; }
  // As a file.
  std::string to_json() const;

 private:
  std::string text_;
};

}  // namespace rondo
