// ScalarLog: numbers over steps, for TensorBoard.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "rondo/runtime/session.h"
#include "rondo/train/event_writer.h"

namespace rondo {

// One thread.
class ScalarLog {
 public:
  static Result<std::unique_ptr<ScalarLog>> open(const std::string& folder);

  Status add(const std::string& tag, double value, int64_t step);
  Status close() { return writer_->close(); }
  const std::string& path() const { return writer_->path(); }

 private:
  struct Tag {
    Value value;    // fed
    Value summary;  // of it
  };
  explicit ScalarLog(std::unique_ptr<EventWriter> writer);

  std::unique_ptr<EventWriter> writer_;
  // Summaries are made by operations; these are apart from the model's.
  Graph graph_;
  std::map<std::string, Tag> tags_;
  Session session_;
};

}  // namespace rondo
