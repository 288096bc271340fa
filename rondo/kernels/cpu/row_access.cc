// Rows of a tensor, read and changed one by one.
#include <cstring>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

struct Row {
  Shape shape;
  size_t bytes = 0;
  size_t offset = 0;  // of its first byte
};

Result<Row> row_of(KernelContext& c) {
  const Tensor& x = c.input(0);
  if (x.shape().rank() == 0)
    return error(Code::kInvalidArgument, "x is a scalar, which has no rows");
  if (c.input(1).count() != 1)
    return error(Code::kInvalidArgument,
                 "index has shape {}, expected a scalar",
                 c.input(1).shape().to_string());
  const int64_t index = index_at(c.input(1), 0);
  const int64_t rows = x.shape()[0];
  if (index < 0 || index >= rows)
    return error(Code::kInvalidArgument,
                 "index {} is out of range: x, of shape {}, has the rows 0 to "
                 "{}",
                 index, x.shape().to_string(), rows - 1);
  const auto extents = x.shape().extents();
  Row row;
  row.shape = Shape(std::vector<int64_t>(extents.begin() + 1, extents.end()));
  row.bytes = x.bytes() / static_cast<size_t>(rows);
  row.offset = row.bytes * static_cast<size_t>(index);
  return row;
}

// The row of output 0, which is x, in x's memory where that is free.
char* own_row(KernelContext& c, const Row& row) {
  const void* before = c.input(0).data();
  const size_t bytes = c.input(0).bytes();
  const DType dtype = c.input(0).dtype();
  const Shape shape = c.input(0).shape();
  Tensor& y = c.allocate_or_reuse(0, 0, dtype, shape);
  if (y.data() != before && bytes > 0) std::memcpy(y.data(), before, bytes);
  return static_cast<char*>(y.data()) + row.offset;
}

Status check_put(const Row& row, const Tensor& put) {
  if (put.shape() == row.shape) return {};
  return error(Code::kInvalidArgument,
               "row has shape {}, but the rows of x have {}",
               put.shape().to_string(), row.shape.to_string());
}

Status run_take(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Row row, row_of(c));
  Tensor& y = c.allocate(0, c.input(0).dtype(), row.shape);
  if (row.bytes > 0)
    std::memcpy(y.data(),
                static_cast<const char*>(c.input(0).data()) + row.offset,
                row.bytes);
  c.set_output(1, c.input(0));
  return {};
}

Status run_set(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Row row, row_of(c));
  RONDO_RETURN_IF_ERROR(check_put(row, c.input(2)));
  char* to = own_row(c, row);
  if (row.bytes > 0) std::memcpy(to, c.input(2).data(), row.bytes);
  return {};
}

Status run_clear(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Row row, row_of(c));
  char* to = own_row(c, row);
  if (row.bytes > 0) std::memset(to, 0, row.bytes);
  return {};
}

Status run_add(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Row row, row_of(c));
  RONDO_RETURN_IF_ERROR(check_put(row, c.input(2)));
  const DType dtype = c.input(0).dtype();
  char* to = own_row(c, row);
  const Tensor& more = c.input(2);
  return dispatch_number(dtype, [&]<class T>() -> Status {
    T* sums = reinterpret_cast<T*>(to);
    const auto parts = more.span<T>();
    for (size_t i = 0; i < parts.size(); ++i)
      sums[i] = store<T>(load(sums[i]) + load(parts[i]));
    return {};
  });
}

}  // namespace

void register_row_access_kernels(KernelRegistry& kernels) {
  kernels.add("TakeRow", "cpu", from_function(run_take));
  kernels.add("SetRow", "cpu", from_function(run_set));
  kernels.add("AddRow", "cpu", from_function(run_add));
  kernels.add("ClearRow", "cpu", from_function(run_clear));
}

}  // namespace rondo
