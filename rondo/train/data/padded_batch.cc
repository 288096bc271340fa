// Elements of several shapes, padded and put together along a new first axis.
#include <algorithm>
#include <cstring>

#include "rondo/train/data/batch_rows.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

// Copies a block into the corner of a larger one, along axis and those behind.
void copy_corner(char* to, std::span<const int64_t> to_extents,
                 const char* from, std::span<const int64_t> from_extents,
                 size_t element_bytes) {
  if (to_extents.empty()) {
    std::memcpy(to, from, element_bytes);
    return;
  }
  if (to_extents.size() == 1) {
    std::memcpy(to, from, static_cast<size_t>(from_extents[0]) * element_bytes);
    return;
  }
  auto bytes_behind = [&](std::span<const int64_t> extents) {
    size_t bytes = element_bytes;
    for (const int64_t extent : extents.subspan(1))
      bytes *= static_cast<size_t>(extent);
    return bytes;
  };
  const size_t to_step = bytes_behind(to_extents);
  const size_t from_step = bytes_behind(from_extents);
  for (int64_t i = 0; i < from_extents[0]; ++i)
    copy_corner(to + static_cast<size_t>(i) * to_step, to_extents.subspan(1),
                from + static_cast<size_t>(i) * from_step,
                from_extents.subspan(1), element_bytes);
}

void fill(Tensor& tensor, const Tensor& value) {
  const size_t bytes = size_of(tensor.dtype());
  auto* to = static_cast<char*>(tensor.data());
  for (int64_t i = 0; i < tensor.count(); ++i)
    std::memcpy(to + static_cast<size_t>(i) * bytes, value.data(), bytes);
}

// The extents that all rows fit in, behind their number.
Result<Shape> padded_shape(const std::vector<DataElement>& rows,
                           size_t component, const PartialShape& wanted) {
  const int rank = rows[0][component].shape().rank();
  if (wanted.has_rank() && wanted.rank() != rank)
    return error(Code::kInvalidArgument,
                 "component {} has shape {}, which cannot be padded to {}",
                 component, rows[0][component].shape().to_string(),
                 wanted.to_string());
  std::vector<int64_t> extents(static_cast<size_t>(rank) + 1, 0);
  extents[0] = static_cast<int64_t>(rows.size());
  for (const DataElement& row : rows) {
    const Shape& shape = row[component].shape();
    if (shape.rank() != rank)
      return error(Code::kInvalidArgument,
                   "component {} has shape {} in the batch's first element and "
                   "{} in another: the ranks differ",
                   component, rows[0][component].shape().to_string(),
                   shape.to_string());
    for (int d = 0; d < rank; ++d) {
      int64_t& extent = extents[static_cast<size_t>(d) + 1];
      if (!wanted.has_rank() || wanted[d] == kAny)
        extent = std::max(extent, shape[d]);
      else if (shape[d] <= wanted[d])
        extent = wanted[d];
      else
        return error(Code::kInvalidArgument,
                     "component {} has shape {}, which is larger than {}",
                     component, shape.to_string(), wanted.to_string());
    }
  }
  return Shape(extents);
}

Result<Tensor> join_padded(const std::vector<DataElement>& rows,
                           size_t component, const PartialShape& wanted,
                           const Tensor* padding) {
  for (size_t i = 1; i < rows.size(); ++i)
    RONDO_RETURN_IF_ERROR(same_type(rows, i, component));
  RONDO_ASSIGN_OR_RETURN(const Shape shape,
                         padded_shape(rows, component, wanted));
  const DType dtype = rows[0][component].dtype();
  Tensor batch =
      padding ? Tensor::empty(shape, dtype) : Tensor::zeros(shape, dtype);
  if (padding) fill(batch, *padding);
  if (batch.bytes() == 0) return batch;
  const size_t row_bytes = batch.bytes() / rows.size();
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i][component].bytes() > 0)
      copy_corner(static_cast<char*>(batch.data()) + i * row_bytes,
                  shape.extents().subspan(1),
                  static_cast<const char*>(rows[i][component].data()),
                  rows[i][component].shape().extents(), size_of(dtype));
  return batch;
}

void check(const DataTypes& types, const PaddedBatchOptions& options) {
  auto refuse = [](const std::string& what) {
    throw Error(Code::kInvalidArgument, "Dataset.padded_batch: " + what);
  };
  if (!options.padded_shapes.empty() &&
      options.padded_shapes.size() != types.size())
    refuse(fmt::format("{} padded_shapes for elements of {} components",
                       options.padded_shapes.size(), types.size()));
  if (!options.padding_values.empty() &&
      options.padding_values.size() != types.size())
    refuse(fmt::format("{} padding_values for elements of {} components",
                       options.padding_values.size(), types.size()));
  for (size_t i = 0; i < options.padding_values.size(); ++i) {
    const Tensor& value = options.padding_values[i];
    if (value.count() != 1 || value.dtype() != types[i].dtype)
      refuse(fmt::format("padding value {} is {}{}, expected a scalar of {}", i,
                         name_of(value.dtype()), value.shape().to_string(),
                         name_of(types[i].dtype)));
  }
}

}  // namespace

DataStagePtr padded_batch_stage(DataStagePtr input, int64_t size,
                                PaddedBatchOptions options) {
  check_batch_size("padded_batch", size);
  check(input->types(), options);
  DataTypes types = input->types();
  if (options.padded_shapes.empty())
    for (const TensorType& type : types)
      options.padded_shapes.push_back(
          type.shape.has_rank() ? PartialShape::of_rank(type.shape.rank())
                                : PartialShape());
  for (size_t i = 0; i < types.size(); ++i)
    types[i].shape = with_front(options.drop_remainder ? size : kAny,
                                options.padded_shapes[i]);
  return make_stage(
      "padded_batch", std::move(types),
      [input = std::move(input), size,
       options = std::move(options)](const DataRun& run) {
        auto join = [options](const std::vector<DataElement>& rows, size_t i) {
          return join_padded(rows, i, options.padded_shapes[i],
                             options.padding_values.empty()
                                 ? nullptr
                                 : &options.padding_values[i]);
        };
        return std::make_unique<BatchRows>("padded_batch", input->open(run),
                                           size, options.drop_remainder, join,
                                           run);
      });
}

}  // namespace rondo
