// MeasuredContention: how much nodes that run at once slow each other, of
// several measurements.
#pragma once

#include <deque>
#include <vector>

namespace rondo {

// Of the last few the middle one counts, for each number of nodes: another
// program may have run during one. Of an even number the one that is slower.
class MeasuredContention {
 public:
  // As PlacementRequest::contention has it; for fewer nodes, or none, where
  // more could not be measured.
  void add(std::vector<double> measured);
  const std::vector<double>& middle() const { return middle_; }

 private:
  std::deque<std::vector<double>> last_;
  std::vector<double> middle_;
};

}  // namespace rondo
