#include "rondo/tensor/range_set.h"

#include <algorithm>

namespace rondo {

OffsetRange RangeSet::add(OffsetRange range) {
  if (range.size() == 0) return range;
  auto next = ranges_.lower_bound(range.start);
  if (next != ranges_.begin()) {
    auto before = std::prev(next);
    if (before->second == range.start) {
      range.start = before->first;
      erase(before);
    }
  }
  if (next != ranges_.end() && next->first == range.end) {
    range.end = next->second;
    erase(next);
  }
  insert(range);
  return range;
}

void RangeSet::remove(OffsetRange range) {
  auto it = ranges_.upper_bound(range.start);
  if (it != ranges_.begin()) --it;
  while (it != ranges_.end() && it->first < range.end) {
    const OffsetRange found{it->first, it->second};
    const auto current = it++;
    if (found.end <= range.start) continue;
    erase(current);
    if (found.start < range.start) insert({found.start, range.start});
    if (found.end > range.end) insert({range.end, found.end});
  }
}

std::optional<OffsetRange> RangeSet::best_fit(uint64_t size) const {
  const auto it = by_size_.lower_bound({size, 0});
  if (it == by_size_.end()) return std::nullopt;
  return OffsetRange{it->second, it->second + it->first};
}

void RangeSet::insert(OffsetRange range) {
  ranges_.emplace(range.start, range.end);
  by_size_.emplace(range.size(), range.start);
  total_ += range.size();
}

void RangeSet::erase(Ranges::iterator it) {
  const OffsetRange range{it->first, it->second};
  by_size_.erase({range.size(), range.start});
  total_ -= range.size();
  ranges_.erase(it);
}

}  // namespace rondo
