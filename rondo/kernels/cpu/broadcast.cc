#include "rondo/kernels/cpu/broadcast.h"

namespace rondo {
namespace {

Status too_many_axes(int rank) {
  return error(Code::kInvalidArgument,
               "a tensor has {} axes; at most {} can be broadcast", rank,
               Broadcast::kMaxAxes);
}

}  // namespace

int64_t Broadcast::rows() const {
  int64_t rows = 1;
  for (int i = 0; i + 1 < axes; ++i) rows *= extent[static_cast<size_t>(i)];
  return rows;
}

Result<Shape> broadcast_shape(std::span<const Tensor* const> inputs) {
  int rank = 0;
  for (const Tensor* t : inputs) rank = std::max(rank, t->shape().rank());
  if (rank > Broadcast::kMaxAxes) return too_many_axes(rank);
  std::array<int64_t, Broadcast::kMaxAxes> extents;
  for (int axis = 0; axis < rank; ++axis) {
    int64_t& extent = extents[static_cast<size_t>(axis)];
    extent = 1;
    for (const Tensor* t : inputs) {
      const int own = axis - (rank - t->shape().rank());
      if (own < 0 || t->shape()[own] == 1) continue;
      if (extent != 1 && extent != t->shape()[own]) {
        std::string shapes;
        for (const Tensor* each : inputs)
          shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ",
                                each->shape().to_string());
        return error(Code::kInvalidArgument,
                     "the shapes {} cannot be broadcast together", shapes);
      }
      extent = t->shape()[own];
    }
  }
  return Shape(
      std::span<const int64_t>(extents.data(), static_cast<size_t>(rank)));
}

Result<Broadcast> plan_broadcast(const Shape& out,
                                 std::span<const Shape* const> inputs) {
  if (out.rank() > Broadcast::kMaxAxes) return too_many_axes(out.rank());
  Broadcast b;
  b.inputs = static_cast<int>(inputs.size());
  // The innermost axis is found first, so it is turned around in the end.
  int axes = 0;
  Broadcast::Steps size{};  // elements of each input below this axis
  size.fill(1);
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    const int64_t extent = out[axis];
    Broadcast::Steps step{};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Shape& shape = *inputs[i];
      const int own = axis - (out.rank() - shape.rank());
      const int64_t mine = own < 0 ? 1 : shape[own];
      if (mine != extent && mine != 1)
        return error(Code::kInvalidArgument,
                     "the shape {} cannot be broadcast to {}",
                     shape.to_string(), out.to_string());
      if (mine == extent && extent != 1) step[i] = size[i];
      size[i] *= mine;
    }
    if (extent == 1) continue;
    bool joins = axes > 0;
    const auto last = static_cast<size_t>(axes - 1);
    for (size_t i = 0; joins && i < inputs.size(); ++i)
      joins = step[i] == b.step[last][i] * b.extent[last];
    if (joins) {
      b.extent[last] *= extent;
      continue;
    }
    b.extent[static_cast<size_t>(axes)] = extent;
    b.step[static_cast<size_t>(axes)] = step;
    ++axes;
  }
  for (const Shape* shape : inputs)
    if (shape->rank() > out.rank())
      return error(Code::kInvalidArgument,
                   "the shape {} cannot be broadcast to {}", shape->to_string(),
                   out.to_string());
  if (axes == 0) {
    b.extent[0] = 1;
    axes = 1;
  }
  b.axes = axes;
  std::reverse(b.extent.begin(), b.extent.begin() + axes);
  std::reverse(b.step.begin(), b.step.begin() + axes);
  return b;
}

}  // namespace rondo
