// Looks for a better assignment than the one it is given.
#pragma once

#include "rondo/graph/placement/simulator.h"

namespace rondo {

struct Found {
  Assignment assignment;
  Simulator::Score score;
};

// The best of: all assignments, where the budget allows to try them; else the
// starts, all on one device (each, as far as groups may be there), and what
// becomes of the best of these by moving and swapping groups while that makes
// items end earlier, and again from there after a few random moves. The same
// every time, unless the deadline ends it.
class PlacementSearch {
 public:
  PlacementSearch(const PlacementProblem& problem, Simulator& simulator,
                  const SearchBudget& budget);

  // Of equally good ones, the first start. At least one start.
  Found best_from(const std::vector<Assignment>& starts);
  // The best with all on one device, which best_from tried.
  const Found& one_device() const { return one_device_; }
  int device() const { return device_; }

 private:
  bool over() const;
  void descend();
  bool try_it(const Assignment& assignment);
  Assignment all_on(int device) const;
  bool all_fit_in_budget() const;
  void enumerate();
  bool improve_by_moves();
  bool improve_by_swaps();
  void shake();
  std::vector<int> with_feeders(int group) const;
  std::vector<int> in_order_of_promise() const;
  size_t random(size_t below);

  const PlacementProblem& problem_;
  Simulator& simulator_;
  const SearchBudget& budget_;
  int left_;                  // evaluations
  double least_ = 0;          // seconds that no assignment can beat
  std::vector<int> movable_;  // groups with a choice that a step runs
  // By group: those that its items give to and take from.
  std::vector<std::vector<int>> users_;
  std::vector<std::vector<int>> feeders_;
  Found current_;
  Found best_;
  Found one_device_;
  int device_ = 0;
  uint64_t state_ = 1;  // of random()
};

}  // namespace rondo
