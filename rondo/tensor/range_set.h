// RangeSet: a set of numbers, kept as disjoint ranges that do not touch.
// Internal to tensor/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rondo {

// A half-open range of offsets.
struct OffsetRange {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - start; }
  bool operator==(const OffsetRange&) const = default;
};

// Not thread-safe.
class RangeSet {
 public:
  // Adds a range that overlaps none in the set. Returns the range that it is
  // now part of.
  OffsetRange add(OffsetRange range);
  // Takes every number of `range` out, whether in the set or not.
  void remove(OffsetRange range);
  // The smallest range of at least `size` numbers, and of those the lowest.
  std::optional<OffsetRange> best_fit(uint64_t size) const;
  // How many numbers there are.
  uint64_t total() const { return total_; }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // start to end

  void insert(OffsetRange range);
  void erase(Ranges::iterator it);

  Ranges ranges_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // (size, start)
  uint64_t total_ = 0;
};

}  // namespace rondo
