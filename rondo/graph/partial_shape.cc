#include "rondo/graph/partial_shape.h"

#include <algorithm>

namespace rondo {

PartialShape::PartialShape(std::vector<int64_t> extents) : has_rank_(true) {
  for (const int64_t extent : extents)
    if (extent < kAny)
      throw Error(Code::kInvalidArgument,
                  fmt::format("an extent of a shape is {}: expected 0 or more, "
                              "or -1 where it is not known",
                              extent));
  extents_ = std::move(extents);
}

PartialShape::PartialShape(const Shape& shape)
    : has_rank_(true),
      extents_(shape.extents().begin(), shape.extents().end()) {}

PartialShape PartialShape::of_rank(int rank) {
  return PartialShape(std::vector<int64_t>(static_cast<size_t>(rank), kAny));
}

bool PartialShape::known() const {
  return has_rank() && std::ranges::find(extents_, kAny) == extents_.end();
}

int64_t PartialShape::count() const {
  return known() ? to_shape().count() : kAny;
}

bool PartialShape::compatible(const PartialShape& other) const {
  if (!has_rank() || !other.has_rank()) return true;
  if (rank() != other.rank()) return false;
  for (int i = 0; i < rank(); ++i)
    if ((*this)[i] != kAny && other[i] != kAny && (*this)[i] != other[i])
      return false;
  return true;
}

std::string PartialShape::to_string() const {
  if (!has_rank()) return "?";
  std::string text = "[";
  for (int i = 0; i < rank(); ++i) {
    if (i > 0) text += ", ";
    text += (*this)[i] == kAny ? "?" : std::to_string((*this)[i]);
  }
  return text + "]";
}

Result<PartialShape> merge(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank()) return b;
  if (!b.has_rank()) return a;
  if (!a.compatible(b))
    return error(Code::kInvalidArgument, "the shapes {} and {} do not agree",
                 a.to_string(), b.to_string());
  PartialShape both = a;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i] == kAny) both.set(i, b[i]);
  return both;
}

Result<PartialShape> broadcast(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape();
  const PartialShape& wide = a.rank() >= b.rank() ? a : b;
  const PartialShape& thin = a.rank() >= b.rank() ? b : a;
  PartialShape both = wide;
  const int lead = wide.rank() - thin.rank();
  for (int i = 0; i < thin.rank(); ++i) {
    const int64_t x = wide[lead + i];
    const int64_t y = thin[i];
    if (x == y || y == 1) continue;
    if (x == 1 || x == kAny)
      both.set(lead + i, y);
    else if (y != kAny)
      return error(Code::kInvalidArgument,
                   "the shapes {} and {} cannot be broadcast together: extents "
                   "must be equal or 1, counted from the last",
                   a.to_string(), b.to_string());
  }
  return both;
}

Result<int> resolve_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return error(Code::kInvalidArgument,
                 "axis {} is out of range for a tensor of rank {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace rondo
