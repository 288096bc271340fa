#include <algorithm>
#include <cstring>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/row_sum.h"
#include "rondo/kernels/cpu/strided_copy.h"

namespace rondo {
namespace {

using array::as_i64;
using array::axis_of;
using array::AxisView;
using array::checked_indices;
using array::view_of;

// The shape with the indices' extents in the place of the axis.
Shape gathered(const Shape& x, const Shape& indices, int axis) {
  FewInts extents(x.extents().begin(), x.extents().end());
  extents.erase(extents.begin() + axis);
  const auto in_place = indices.extents();
  extents.insert(extents.begin() + axis, in_place.data(),
                 in_place.data() + in_place.size());
  return Shape(extents);
}

// Input 1, as indices of an axis of `shape`.
Result<Tensor> checked_rows(KernelContext& c, const Shape& shape, int axis) {
  return checked_indices(c, 1, shape[axis], [&] {
    return fmt::format("axis {} of {}", axis, shape.to_string());
  });
}

Status gather(KernelContext& c, int axis) {
  const Tensor& x = c.input(0);
  const AxisView view = view_of(x.shape(), axis);
  RONDO_ASSIGN_OR_RETURN(const Tensor indices,
                         checked_rows(c, x.shape(), axis));
  Tensor& y =
      c.allocate(0, x.dtype(), gathered(x.shape(), indices.shape(), axis));
  array::gather_rows(x.data(), y.data(), view, indices.span<int64_t>(),
                     static_cast<size_t>(view.inner) * size_of(x.dtype()));
  return {};
}

Status run_gather(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         axis_of(node, c.input(0).shape().rank()));
  return gather(c, axis);
}

Status run_embedding_lookup(const Node&, KernelContext& c) {
  if (c.input(0).shape().rank() == 0)
    return error(Code::kInvalidArgument, "params is a scalar");
  return gather(c, 0);
}

Status run_dense_rows(const Node& node, KernelContext& c) {
  const Tensor& rows = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(2)));
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, shape.rank()));
  const Shape expected = gathered(shape, c.input(1).shape(), axis);
  if (rows.shape() != expected)
    return error(Code::kInvalidArgument, "rows has shape {}, expected {}",
                 rows.shape().to_string(), expected.to_string());
  RONDO_ASSIGN_OR_RETURN(const Tensor indices, checked_rows(c, shape, axis));
  Tensor& y = c.allocate(0, rows.dtype(), shape);
  dispatch_number(y.dtype(), [&]<class T>() {
    array::sum_rows(rows.span<T>().data(), y.span<T>().data(),
                    view_of(shape, axis), indices.span<int64_t>());
  });
  return {};
}

// Where in a tensor seen as rows of its last axes the indices point.
struct NdRows {
  Ints rows;
  int64_t count = 1;  // how many rows there are
  int64_t inner = 1;  // elements of a row
  Shape shape;        // of what is there, for all indices
};

Result<NdRows> nd_rows(KernelContext& c, int input, const Shape& x) {
  const Tensor indices = as_i64(c, input);
  const Shape& at = indices.shape();
  if (at.rank() == 0)
    return error(Code::kInvalidArgument, "indices is a scalar");
  const auto depth = static_cast<int>(at[at.rank() - 1]);
  if (depth > x.rank())
    return error(Code::kInvalidArgument,
                 "the last axis of indices {} has extent {}, but {} has only "
                 "{} axes",
                 at.to_string(), depth, x.to_string(), x.rank());
  NdRows nd;
  Ints extents;
  int64_t n = 1;
  for (int i = 0; i + 1 < at.rank(); ++i) {
    extents.push_back(at[i]);
    n *= at[i];
  }
  for (int i = 0; i < depth; ++i) nd.count *= x[i];
  for (int i = depth; i < x.rank(); ++i) {
    extents.push_back(x[i]);
    nd.inner *= x[i];
  }
  nd.shape = Shape(extents);
  nd.rows.resize(static_cast<size_t>(n));
  const auto ints = indices.span<int64_t>();
  for (int64_t k = 0; k < n; ++k) {
    int64_t row = 0;
    for (int i = 0; i < depth; ++i) {
      const int64_t index = ints[static_cast<size_t>(k * depth + i)];
      if (index < 0 || index >= x[i])
        return error(Code::kInvalidArgument,
                     "indices{} is {}, out of range for axis {} of {} of "
                     "extent {}",
                     array::place_of(at, k * depth + i), index, i,
                     x.to_string(), x[i]);
      row = row * x[i] + index;
    }
    nd.rows[static_cast<size_t>(k)] = row;
  }
  return nd;
}

Status run_gather_nd(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const NdRows nd, nd_rows(c, 1, x.shape()));
  Tensor& y = c.allocate(0, x.dtype(), nd.shape);
  array::gather_rows(x.data(), y.data(), {1, nd.count, nd.inner}, nd.rows,
                     static_cast<size_t>(nd.inner) * size_of(x.dtype()));
  return {};
}

Status run_scatter_nd(const Node&, KernelContext& c) {
  const Tensor& updates = c.input(1);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(2)));
  RONDO_ASSIGN_OR_RETURN(const NdRows nd, nd_rows(c, 0, shape));
  if (updates.shape() != nd.shape)
    return error(Code::kInvalidArgument, "updates has shape {}, expected {}",
                 updates.shape().to_string(), nd.shape.to_string());
  Tensor& y = c.allocate(0, updates.dtype(), shape);
  dispatch_number(y.dtype(), [&]<class T>() {
    array::sum_rows(updates.span<T>().data(), y.span<T>().data(),
                    {1, nd.count, nd.inner}, std::span<const int64_t>(nd.rows));
  });
  return {};
}

// Indices of the shape x has but for the axis.
Result<Tensor> along(KernelContext& c, const Shape& x, int axis) {
  const Shape& indices = c.input(1).shape();
  if (indices.rank() != x.rank() ||
      array::with_extent(indices, axis, x[axis]) != x)
    return error(Code::kInvalidArgument,
                 "indices has shape {}, expected that of {} but for axis {}",
                 indices.to_string(), x.to_string(), axis);
  return checked_rows(c, x, axis);
}

Status run_take_along_axis(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.shape().rank()));
  RONDO_ASSIGN_OR_RETURN(const Tensor indices, along(c, x.shape(), axis));
  Tensor& y = c.allocate(0, x.dtype(), indices.shape());
  const AxisView view = view_of(x.shape(), axis);
  const int64_t per_outer = indices.shape()[axis] * view.inner;
  const auto at = indices.span<int64_t>();
  array::dispatch_size(x.dtype(), [&]<size_t kBytes>() {
    parallel_for(y.count(), 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from =
            (i / per_outer * view.extent + at[static_cast<size_t>(i)]) *
                view.inner +
            i % view.inner;
        std::memcpy(
            static_cast<char*>(y.data()) + static_cast<size_t>(i) * kBytes,
            static_cast<const char*>(x.data()) +
                static_cast<size_t>(from) * kBytes,
            kBytes);
      }
    });
  });
  return {};
}

template <class T>
void add_along(const Tensor& updates, std::span<const int64_t> at, Tensor& y,
               const AxisView& view, int64_t per_outer) {
  using Sum = Computed<T>;
  const T* from = updates.span<T>().data();
  const int64_t size = view.extent * view.inner;
  if (size == 0) return;
  parallel_for(
      view.outer, std::max<int64_t>(1, (1 << 14) / size),
      [&](int64_t begin, int64_t end) {
        std::vector<Sum> sums(static_cast<size_t>(size));
        for (int64_t o = begin; o < end; ++o) {
          std::fill(sums.begin(), sums.end(), Sum{});
          for (int64_t i = 0; i < per_outer; ++i) {
            const int64_t k = o * per_outer + i;
            Sum& sum = sums[static_cast<size_t>(
                at[static_cast<size_t>(k)] * view.inner + i % view.inner)];
            sum = array::plus(sum, load(from[k]));
          }
          T* to = y.span<T>().data() + o * size;
          for (size_t i = 0; i < sums.size(); ++i) to[i] = store<T>(sums[i]);
        }
      });
}

Status run_add_along_axis(const Node& node, KernelContext& c) {
  const Tensor& updates = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape shape, array::shape_of(c.input(2)));
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, shape.rank()));
  RONDO_ASSIGN_OR_RETURN(const Tensor indices, along(c, shape, axis));
  if (updates.shape() != indices.shape())
    return error(Code::kInvalidArgument, "updates has shape {}, expected {}",
                 updates.shape().to_string(), indices.shape().to_string());
  Tensor& y = c.allocate(0, updates.dtype(), shape);
  const AxisView view = view_of(shape, axis);
  dispatch_number(y.dtype(), [&]<class T>() {
    add_along<T>(updates, indices.span<int64_t>(), y, view,
                 indices.shape()[axis] * view.inner);
  });
  return {};
}

}  // namespace

void register_gathering_kernels(KernelRegistry& kernels) {
  kernels.add("Gather", "cpu", from_function(run_gather));
  kernels.add("EmbeddingLookup", "cpu", from_function(run_embedding_lookup));
  kernels.add("DenseRows", "cpu", from_function(run_dense_rows));
  kernels.add("GatherNd", "cpu", from_function(run_gather_nd));
  kernels.add("ScatterNd", "cpu", from_function(run_scatter_nd));
  kernels.add("TakeAlongAxis", "cpu", from_function(run_take_along_axis));
  kernels.add("AddAlongAxis", "cpu", from_function(run_add_along_axis));
}

}  // namespace rondo
