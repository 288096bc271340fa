#include "rondo/trainer/scalar_log.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/summary.h"

namespace rondo {

Result<std::unique_ptr<ScalarLog>> ScalarLog::open(const std::string& folder) {
  RONDO_ASSIGN_OR_RETURN(auto writer, EventWriter::open(folder));
  return std::unique_ptr<ScalarLog>(new ScalarLog(std::move(writer)));
}

ScalarLog::ScalarLog(std::unique_ptr<EventWriter> writer)
    : writer_(std::move(writer)),
      session_(graph_, {.inter_op_threads = 1, .intra_op_threads = 1}) {}

Status ScalarLog::add(const std::string& tag, double value, int64_t step) {
  auto found = tags_.find(tag);
  if (found == tags_.end()) {
    const Value fed = placeholder(graph_, {.shape = PartialShape(Shape{})});
    found = tags_.emplace(tag, Tag{fed, scalar_summary(tag, fed)}).first;
  }
  const Tensor number = Tensor::full<float>({}, static_cast<float>(value));
  RONDO_ASSIGN_OR_RETURN(
      const Tensor summary,
      session_.run(found->second.summary, {{found->second.value, number}}));
  return writer_->add_summary(summary, step);
}

}  // namespace rondo
