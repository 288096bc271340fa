// DataSource: where iterators of a graph take elements from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/graph/graph.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

class DataSource {
 public:
  // Ends its threads.
  virtual ~DataSource() = default;
  // The components of the next element; none at the end. One thread at a time.
  // May wait.
  virtual Result<std::optional<std::vector<Tensor>>> next() = 0;
  // From any thread: a next() that waits, and every later one, fails.
  virtual void stop() = 0;
};

// What is attached to a graph for its iterators. Any thread.
class DataSourceMaker : public Attachment {
 public:
  // Quick. Sources of other passes may have other orders.
  virtual std::shared_ptr<DataSource> make(uint64_t pass) const = 0;
};

}  // namespace rondo
