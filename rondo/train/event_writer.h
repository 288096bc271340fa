// EventWriter: TensorBoard's event files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/graph/graph.h"

namespace rondo {

struct EventWriterOptions {
  // Events are written once there are so many, and at least so often.
  int max_queue = 10;
  Duration flush_every = std::chrono::minutes(2);
  std::string suffix = {};  // of the file's name
};

// Writes one file of a folder. Adding an event only puts it into memory; a
// thread of the writer's own writes. The first failure of writing is kept and
// is what all later calls return; the file then ends with the last event that
// is whole. Any thread.
class RONDO_API EventWriter {
 public:
  // Makes the folder, and a new file in it.
  static Result<std::unique_ptr<EventWriter>> open(
      const std::string& folder, const EventWriterOptions& options = {});
  // Closes it; a failure is logged.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // What a run gave for a summary; see graph/ops/summary.h.
  Status add_summary(std::string_view summary, int64_t step);
  Status add_summary(const Tensor& summary, int64_t step);
  // For TensorBoard's page of graphs; without the elements of large constants.
  Status add_graph(const Graph& graph, int64_t step = 0);
  // Returns once all that was added is in the file.
  Status flush();
  // flush(), and the end: later calls fail. Again: nothing.
  Status close();
  const std::string& path() const;

 private:
  class Impl;
  explicit EventWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
