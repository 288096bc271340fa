// Elements of equal shapes, put together along a new first axis.
#include <algorithm>
#include <cstring>

#include "rondo/kernels/cpu/parallel.h"
#include "rondo/train/data/batch_rows.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

// Below this, a second thread costs more than it copies.
constexpr size_t kBytesPerThread = size_t{1} << 20;

void fetch_ahead(const void* data, size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kMost = 16 * kLine;
  for (size_t at = 0; at < std::min(bytes, kMost); at += kLine)
    __builtin_prefetch(static_cast<const char*>(data) + at);
}

Result<Tensor> join(const std::vector<DataElement>& rows, size_t component) {
  const Tensor& first = rows[0][component];
  for (size_t i = 1; i < rows.size(); ++i)
    RONDO_RETURN_IF_ERROR(same_type(rows, i, component));
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i][component].shape() != first.shape())
      return error(Code::kInvalidArgument,
                   "component {} has shape {} in the batch's first element and "
                   "{} in its element {}; use padded_batch",
                   component, first.shape().to_string(),
                   rows[i][component].shape().to_string(), i);
  std::vector<int64_t> extents = {static_cast<int64_t>(rows.size())};
  extents.insert(extents.end(), first.shape().extents().begin(),
                 first.shape().extents().end());
  Tensor batch = Tensor::empty(Shape(extents), first.dtype());
  const size_t bytes = first.bytes();
  if (bytes == 0) return batch;
  auto* to = static_cast<char*>(batch.data());
  parallel_for(static_cast<int64_t>(rows.size()),
               static_cast<int64_t>((kBytesPerThread + bytes - 1) / bytes),
               [&](int64_t begin, int64_t end) {
                 for (auto i = static_cast<size_t>(begin);
                      i < static_cast<size_t>(end); ++i) {
                   // Rows lie anywhere, so the processor cannot guess.
                   if (i + 1 < static_cast<size_t>(end))
                     fetch_ahead(rows[i + 1][component].data(), bytes);
                   std::memcpy(to + i * bytes, rows[i][component].data(),
                               bytes);
                 }
               });
  return batch;
}

}  // namespace

Status same_type(const std::vector<DataElement>& rows, size_t row,
                 size_t component) {
  const DType first = rows[0][component].dtype();
  const DType other = rows[row][component].dtype();
  if (first == other) return {};
  return error(Code::kInvalidArgument,
               "component {} has elements of {} in the batch's first element "
               "and of {} in its element {}",
               component, name_of(first), name_of(other), row);
}

NextElement BatchRows::produce() {
  while (!ended_ && rows_.size() < size_) {
    NextElement element = input_->next();
    if (!element.ok()) return element;
    ended_ = !*element;
    if (ended_) break;
    if (!rows_.empty() && (*element)->size() != rows_[0].size()) {
      const size_t wanted = rows_[0].size();
      rows_.clear();
      return fault(error(Code::kInvalidArgument,
                         "an element has {} components, those before it {}",
                         (*element)->size(), wanted));
    }
    rows_.push_back(std::move(**element));
  }
  if (rows_.empty() || (rows_.size() < size_ && drop_remainder_))
    return std::optional<DataElement>();
  const std::vector<DataElement> rows = std::move(rows_);
  rows_.clear();
  rows_.reserve(std::min(size_, rows.size()));
  DataElement batch;
  batch.reserve(rows[0].size());
  for (size_t i = 0; i < rows[0].size(); ++i) {
    auto joined = join_(rows, i);
    if (!joined.ok()) return fault(joined.status());
    batch.push_back(std::move(*joined));
  }
  return std::optional(std::move(batch));
}

void check_batch_size(std::string_view stage, int64_t size) {
  if (size < 1)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.{}: batch_size is {}, expected at least 1",
                            stage, size));
}

DataStagePtr batch_stage(DataStagePtr input, int64_t size,
                         BatchOptions options) {
  check_batch_size("batch", size);
  const bool drop = options.drop_remainder;
  DataTypes types = input->types();
  for (TensorType& type : types)
    type.shape = with_front(drop ? size : kAny, type.shape);
  return make_stage("batch", std::move(types),
                    [input = std::move(input), size, drop](const DataRun& run) {
                      return std::make_unique<BatchRows>(
                          "batch", input->open(run), size, drop, join, run);
                    });
}

}  // namespace rondo
