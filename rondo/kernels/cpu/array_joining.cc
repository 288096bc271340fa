#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/strided_copy.h"

namespace rondo {
namespace {

using array::axis_of;
using array::AxisView;
using array::view_of;
using array::with_extent;

// Rows of `part` elements, of which each is a piece of a row of `whole`: in or
// out of it.
void move_pieces(size_t size, const void* from, void* to, int64_t rows,
                 int64_t part, int64_t from_row, int64_t to_row) {
  strided_copy(size, from, to, {{rows, from_row, to_row}, {part, 1, 1}});
}

char* at(Tensor& t, int64_t element) {
  return static_cast<char*>(t.data()) +
         element * static_cast<int64_t>(size_of(t.dtype()));
}
const char* at(const Tensor& t, int64_t element) {
  return static_cast<const char*>(t.data()) +
         element * static_cast<int64_t>(size_of(t.dtype()));
}

Status run_concat(const Node& node, KernelContext& c) {
  if (c.inputs() == 1) {
    c.set_output(0, c.input(0));
    return {};
  }
  const Shape& first = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, first.rank()));
  int64_t sum = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    const Shape& shape = c.input(i).shape();
    if (shape.rank() != first.rank() ||
        with_extent(shape, axis, 0) != with_extent(first, axis, 0))
      return error(Code::kInvalidArgument,
                   "input {} has shape {}, the first {}: they differ in more "
                   "than axis {}",
                   i, shape.to_string(), first.to_string(), axis);
    sum += shape[axis];
  }
  Tensor& y = c.allocate(0, c.input(0).dtype(), with_extent(first, axis, sum));
  const AxisView view = view_of(y.shape(), axis);
  int64_t offset = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    const Tensor& x = c.input(i);
    const int64_t part = x.shape()[axis] * view.inner;
    move_pieces(size_of(y.dtype()), x.data(), at(y, offset), view.outer, part,
                part, view.extent * view.inner);
    offset += part;
  }
  return {};
}

Status cut(KernelContext& c, int axis, std::span<const int64_t> sizes) {
  const Tensor& x = c.input(0);
  if (sizes.size() == 1) {
    c.set_output(0, x);
    return {};
  }
  const AxisView view = view_of(x.shape(), axis);
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Tensor& y = c.allocate(static_cast<int>(i), x.dtype(),
                           with_extent(x.shape(), axis, sizes[i]));
    const int64_t part = sizes[i] * view.inner;
    move_pieces(size_of(x.dtype()), at(x, offset), y.data(), view.outer, part,
                view.extent * view.inner, part);
    offset += part;
  }
  return {};
}

Status run_split(const Node& node, KernelContext& c) {
  const Shape& x = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.rank()));
  const int64_t num = c.outputs();
  if (x[axis] % num != 0)
    return error(Code::kInvalidArgument,
                 "axis {} of {} has extent {}, which {} parts cannot share "
                 "evenly",
                 axis, x.to_string(), x[axis], num);
  return cut(c, axis, FewInts(static_cast<size_t>(num), x[axis] / num));
}

Status cut_checked(KernelContext& c, int axis, std::span<const int64_t> sizes) {
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 0)
      return error(Code::kInvalidArgument, "a part has extent {}", size);
    sum += size;
  }
  const Shape& x = c.input(0).shape();
  if (sum != x[axis])
    return error(Code::kInvalidArgument,
                 "the parts {} add up to {}, but axis {} of {} has extent {}",
                 to_string(AttrValue(Ints(sizes.begin(), sizes.end()))), sum,
                 axis, x.to_string(), x[axis]);
  return cut(c, axis, sizes);
}

Status run_split_v(const Node& node, KernelContext& c) {
  const Shape& x = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.rank()));
  const Ints& given = node.attrs().get<Ints>("sizes");
  FewInts sizes(given.begin(), given.end());
  if (sizes.empty()) return {};
  int64_t* rest = nullptr;
  int64_t sum = 0;
  for (int64_t& size : sizes) {
    if (size < 0)
      rest = &size;
    else
      sum += size;
  }
  if (rest) *rest = x[axis] - sum;
  return cut_checked(c, axis, sizes);
}

Status run_split_like(const Node& node, KernelContext& c) {
  const Shape& x = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.rank()));
  FewInts sizes;
  for (int i = 1; i < c.inputs(); ++i) {
    const FewInts extents = array::ints_of(c.input(i));
    if (extents.size() != static_cast<size_t>(x.rank()))
      return error(Code::kInvalidArgument,
                   "shape {} has {} extents, expected {}", i - 1,
                   extents.size(), x.rank());
    sizes.push_back(extents[static_cast<size_t>(axis)]);
  }
  return cut_checked(c, axis, sizes);
}

Status run_stack(const Node& node, KernelContext& c) {
  const Shape& first = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, first.rank() + 1));
  for (int i = 1; i < c.inputs(); ++i)
    if (c.input(i).shape() != first)
      return error(Code::kInvalidArgument,
                   "input {} has shape {}, the first {}", i,
                   c.input(i).shape().to_string(), first.to_string());
  FewInts extents(first.extents().begin(), first.extents().end());
  extents.insert(extents.begin() + axis, c.inputs());
  if (c.inputs() == 1) {
    c.set_output(0, c.input(0).reshape(Shape(extents)));
    return {};
  }
  Tensor& y = c.allocate(0, c.input(0).dtype(), Shape(extents));
  const AxisView view = view_of(y.shape(), axis);
  for (int i = 0; i < c.inputs(); ++i)
    move_pieces(size_of(y.dtype()), c.input(i).data(), at(y, i * view.inner),
                view.outer, view.inner, view.inner, view.extent * view.inner);
  return {};
}

Status run_unstack(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.shape().rank()));
  if (x.shape()[axis] != c.outputs())
    return error(Code::kInvalidArgument,
                 "axis {} of {} has extent {}, but num is {}", axis,
                 x.shape().to_string(), x.shape()[axis], c.outputs());
  FewInts extents(x.shape().extents().begin(), x.shape().extents().end());
  extents.erase(extents.begin() + axis);
  const AxisView view = view_of(x.shape(), axis);
  for (int i = 0; i < c.outputs(); ++i) {
    Tensor& y = c.allocate(i, x.dtype(), Shape(extents));
    move_pieces(size_of(y.dtype()), at(x, i * view.inner), y.data(), view.outer,
                view.inner, view.extent * view.inner, view.inner);
  }
  return {};
}

}  // namespace

void register_joining_kernels(KernelRegistry& kernels) {
  kernels.add("Concat", "cpu", from_function(run_concat));
  kernels.add("Split", "cpu", from_function(run_split));
  kernels.add("SplitV", "cpu", from_function(run_split_v));
  kernels.add("SplitLike", "cpu", from_function(run_split_like));
  kernels.add("Stack", "cpu", from_function(run_stack));
  kernels.add("Unstack", "cpu", from_function(run_unstack));
}

}  // namespace rondo
