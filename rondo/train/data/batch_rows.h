// BatchRows: elements that are put together, some at a time.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "rondo/train/data/stage.h"

namespace rondo {

// Makes one component of a batch from the rows, of which there is one at least.
using JoinRows = std::function<Result<Tensor>(
    const std::vector<DataElement>& rows, size_t component)>;

class BatchRows final : public DataStream {
 public:
  BatchRows(std::string_view stage, DataStreamPtr input, int64_t size,
            bool drop_remainder, JoinRows join, const DataRun& run)
      : DataStream(stage, run),
        input_(std::move(input)),
        size_(static_cast<size_t>(size)),
        drop_remainder_(drop_remainder),
        join_(std::move(join)) {}

 protected:
  NextElement produce() override;

 private:
  const DataStreamPtr input_;
  const size_t size_;
  const bool drop_remainder_;
  const JoinRows join_;
  std::vector<DataElement> rows_;  // of the batch that is being made
  bool ended_ = false;
};

// Whether a component of a row has the type of the first row's.
Status same_type(const std::vector<DataElement>& rows, size_t row,
                 size_t component);
// Throws unless it is at least 1.
void check_batch_size(std::string_view stage, int64_t size);

}  // namespace rondo
