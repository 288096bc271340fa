#include "rondo/graph/ops/strided_range.h"

#include <algorithm>
#include <bit>

namespace rondo {
namespace {

bool has(int64_t mask, size_t i) { return i < 63 && (mask >> i & 1) != 0; }

// The one element that an axis shrinks to.
Result<StridedRange::Axis> one_element(size_t entry, int axis, int64_t at,
                                       int64_t extent) {
  if (at == kLater || extent == kAny)
    return StridedRange::Axis{kAny, 1, at == kLater ? kAny : 1};
  const int64_t index = at < 0 ? at + extent : at;
  if (index < 0 || index >= extent)
    return error(Code::kInvalidArgument,
                 "begin[{}] is {}, out of range for axis {} of extent {}",
                 entry, at, axis, extent);
  return StridedRange::Axis{index, 1, 1};
}

// From begin to end, both brought to where there are elements.
StridedRange::Axis range(int64_t begin, bool from_edge, int64_t end,
                         bool to_edge, int64_t stride, int64_t extent) {
  const bool open = stride == kLater || extent == kAny ||
                    (begin == kLater && !from_edge) ||
                    (end == kLater && !to_edge);
  if (open && stride == 1 && from_edge && to_edge) return {0, 1, extent};
  if (open) return {0, 1, kAny};
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? extent : extent - 1;
  const auto place = [&](int64_t at, bool edge, int64_t edge_at) {
    if (edge) return edge_at;
    return std::clamp(at < 0 ? at + extent : at, low, high);
  };
  const int64_t first = place(begin, from_edge, stride > 0 ? low : high);
  const int64_t last = place(end, to_edge, stride > 0 ? high : low);
  const int64_t length = stride > 0 ? last - first : first - last;
  // Strides beyond the extent are all the same.
  const int64_t step = std::clamp(stride, -std::max<int64_t>(extent, 1),
                                  std::max<int64_t>(extent, 1));
  const int64_t size = std::abs(step);
  return {first, step, length <= 0 ? 0 : (length + size - 1) / size};
}

}  // namespace

Attrs SliceMasks::attrs() const {
  return {{"begin_mask", begin},
          {"end_mask", end},
          {"ellipsis_mask", ellipsis},
          {"new_axis_mask", new_axis},
          {"shrink_axis_mask", shrink_axis}};
}

SliceMasks SliceMasks::of(const Attrs& attrs) {
  return {.begin = attrs.get<int64_t>("begin_mask"),
          .end = attrs.get<int64_t>("end_mask"),
          .ellipsis = attrs.get<int64_t>("ellipsis_mask"),
          .new_axis = attrs.get<int64_t>("new_axis_mask"),
          .shrink_axis = attrs.get<int64_t>("shrink_axis_mask")};
}

Result<StridedRange> strided_range(std::span<const int64_t> extents,
                                   std::span<const int64_t> begin,
                                   std::span<const int64_t> end,
                                   std::span<const int64_t> strides,
                                   const SliceMasks& masks) {
  const size_t entries = begin.size();
  if (end.size() != entries || strides.size() != entries)
    return error(Code::kInvalidArgument,
                 "begin, end and strides have {}, {} and {} entries, expected "
                 "as many of each",
                 entries, end.size(), strides.size());
  if (std::popcount(static_cast<uint64_t>(masks.ellipsis)) > 1)
    return error(Code::kInvalidArgument, "there is more than one ellipsis");
  const int rank = static_cast<int>(extents.size());
  int named = 0;  // axes that entries other than the ellipsis are about
  for (size_t i = 0; i < entries; ++i)
    named += !has(masks.ellipsis, i) && !has(masks.new_axis, i);
  if (named > rank)
    return error(Code::kInvalidArgument,
                 "{} indices are too many for a tensor of rank {}", named,
                 rank);
  StridedRange all;
  int axis = 0;
  const auto keep = [&] {
    const int64_t extent = extents[static_cast<size_t>(axis++)];
    all.axes.push_back({0, 1, extent});
    all.extents.push_back(extent);
  };
  for (size_t i = 0; i < entries; ++i) {
    if (has(masks.ellipsis, i)) {
      for (int k = 0; k < rank - named; ++k) keep();
      named = rank;
      continue;
    }
    if (has(masks.new_axis, i)) {
      all.extents.push_back(1);
      continue;
    }
    if (strides[i] == 0)
      return error(Code::kInvalidArgument, "strides[{}] is 0", i);
    const int64_t extent = extents[static_cast<size_t>(axis)];
    if (has(masks.shrink_axis, i)) {
      RONDO_ASSIGN_OR_RETURN(
          const auto one,
          one_element(i, axis, has(masks.begin, i) ? 0 : begin[i], extent));
      all.axes.push_back(one);
    } else {
      all.axes.push_back(range(begin[i], has(masks.begin, i), end[i],
                               has(masks.end, i), strides[i], extent));
      all.extents.push_back(all.axes.back().count);
    }
    ++axis;
  }
  while (axis < rank) keep();
  return all;
}

}  // namespace rondo
