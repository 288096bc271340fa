#include "rondo/graph/placement/search.h"

#include <algorithm>
#include <limits>

namespace rondo {
namespace {

// Items simulated when the budget is not given: about a tenth of a second.
constexpr int64_t kDefaultWork = 500'000;
constexpr int64_t kMostEvaluations = 5'000;
// Random moves away from the best that may lead to nothing, before it is taken.
constexpr int kPatience = 30;
// What counts as faster: less is rounding.
constexpr double kLess = 1 - 1e-9;

size_t at(int i) { return static_cast<size_t>(i); }

int evaluations_of(const PlacementProblem& problem,
                   const SearchBudget& budget) {
  if (budget.evaluations >= 0) return budget.evaluations;
  const auto items = static_cast<int64_t>(problem.items.size());
  return static_cast<int>(std::clamp<int64_t>(
      kDefaultWork / std::max<int64_t>(items, 1), 50, kMostEvaluations));
}

// The longest way through the step, each item where it is fastest and nothing
// sent.
double least_seconds(const PlacementProblem& problem) {
  std::vector<double> rest(problem.items.size());
  double most = 0;
  for (size_t i = problem.items.size(); i-- > 0;) {
    const PlacementProblem::Item& item = problem.items[i];
    for (const auto& out : item.outs)
      for (const int user : out.users)
        rest[i] = std::max(rest[i], rest[at(user)]);
    double own = std::numeric_limits<double>::infinity();
    for (const int d : problem.groups[at(item.group)].devices)
      own = std::min(own, item.seconds[at(d)]);
    rest[i] += own;
    most = std::max(most, rest[i]);
  }
  return most;
}

void sort_out(std::vector<int>& list) {
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

PlacementSearch::PlacementSearch(const PlacementProblem& problem,
                                 Simulator& simulator,
                                 const SearchBudget& budget)
    : problem_(problem),
      simulator_(simulator),
      budget_(budget),
      left_(evaluations_of(problem, budget)),
      least_(least_seconds(problem)),
      users_(problem.groups.size()),
      feeders_(problem.groups.size()) {
  for (size_t g = 0; g < problem.groups.size(); ++g)
    if (problem.groups[g].devices.size() > 1 &&
        !problem.groups[g].items.empty())
      movable_.push_back(static_cast<int>(g));
  for (const PlacementProblem::Item& item : problem.items)
    for (const auto& out : item.outs)
      for (const int user : out.users) {
        const int to = problem.items[at(user)].group;
        if (to == item.group) continue;
        users_[at(item.group)].push_back(to);
        feeders_[at(to)].push_back(item.group);
      }
  for (auto& list : users_) sort_out(list);
  for (auto& list : feeders_) sort_out(list);
}

bool PlacementSearch::over() const {
  return left_ <= 0 || best_.score.seconds * kLess <= least_ ||
         budget_.deadline.passed();
}

// Takes it for the current one if it is better.
bool PlacementSearch::try_it(const Assignment& assignment) {
  --left_;
  const Simulator::Score score = simulator_.score(assignment);
  if (score.better_than(best_.score)) best_ = {assignment, score};
  if (score.guide >= current_.score.guide * kLess) return false;
  current_ = {assignment, score};
  return true;
}

Assignment PlacementSearch::all_on(int device) const {
  Assignment all;
  for (const PlacementProblem::Group& group : problem_.groups)
    all.push_back(std::ranges::binary_search(group.devices, device)
                      ? device
                      : group.devices[0]);
  return all;
}

bool PlacementSearch::all_fit_in_budget() const {
  double count = 1;
  for (const int group : movable_)
    count *= static_cast<double>(problem_.groups[at(group)].devices.size());
  return count <= left_;
}

// Counts through the devices of the movable groups, as through digits.
void PlacementSearch::enumerate() {
  std::vector<size_t> digits(movable_.size());
  Assignment next = best_.assignment;
  for (;;) {
    for (size_t i = 0; i < digits.size(); ++i)
      next[at(movable_[i])] =
          problem_.groups[at(movable_[i])].devices[digits[i]];
    try_it(next);
    size_t i = 0;
    while (i < digits.size() &&
           ++digits[i] == problem_.groups[at(movable_[i])].devices.size())
      digits[i++] = 0;
    if (i == digits.size() || over()) return;
  }
}

// xorshift64*: the same numbers on every machine.
size_t PlacementSearch::random(size_t below) {
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return static_cast<size_t>((state_ * 0x2545F4914F6CDD1DULL) >> 33) % below;
}

// A group and those that feed nobody else, which only make sense beside it.
std::vector<int> PlacementSearch::with_feeders(int group) const {
  std::vector<int> together = {group};
  const int device = current_.assignment[at(group)];
  for (size_t i = 0; i < together.size(); ++i)
    for (const int feeder : feeders_[at(together[i])]) {
      const bool only =
          current_.assignment[at(feeder)] == device &&
          problem_.groups[at(feeder)].devices.size() > 1 &&
          std::ranges::find(together, feeder) == together.end() &&
          std::ranges::all_of(users_[at(feeder)], [&](int user) {
            return std::ranges::find(together, user) != together.end();
          });
      if (only) together.push_back(feeder);
    }
  return together;
}

// Groups at an edge between devices first, then those that run longest.
std::vector<int> PlacementSearch::in_order_of_promise() const {
  const Assignment& on = current_.assignment;
  auto at_edge = [&](int group) {
    auto apart = [&](int other) { return on[at(other)] != on[at(group)]; };
    return std::ranges::any_of(users_[at(group)], apart) ||
           std::ranges::any_of(feeders_[at(group)], apart);
  };
  struct Rank {
    bool edge;
    double seconds;
    int group;
  };
  std::vector<Rank> ranks;
  for (const int group : movable_)
    ranks.push_back({at_edge(group),
                     problem_.groups[at(group)].seconds[at(on[at(group)])],
                     group});
  std::ranges::sort(ranks, [](const Rank& a, const Rank& b) {
    if (a.edge != b.edge) return a.edge;
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.group < b.group;
  });
  std::vector<int> groups;
  for (const Rank& rank : ranks) groups.push_back(rank.group);
  return groups;
}

bool PlacementSearch::improve_by_moves() {
  bool better = false;
  for (const int group : in_order_of_promise()) {
    for (const int device : problem_.groups[at(group)].devices) {
      if (over()) return better;
      if (device == current_.assignment[at(group)]) continue;
      Assignment next = current_.assignment;
      next[at(group)] = device;
      if (try_it(next)) {
        better = true;
        continue;
      }
      const std::vector<int> together = with_feeders(group);
      if (together.size() == 1 || over()) continue;
      for (const int member : together)
        if (std::ranges::binary_search(problem_.groups[at(member)].devices,
                                       device))
          next[at(member)] = device;
      if (try_it(next)) better = true;
    }
  }
  return better;
}

// As many pairs as there are groups: all of them would be too many.
bool PlacementSearch::improve_by_swaps() {
  bool better = false;
  for (size_t tries = 0; tries < movable_.size() && !over(); ++tries) {
    const int a = movable_[random(movable_.size())];
    const int b = movable_[random(movable_.size())];
    const int on_a = current_.assignment[at(a)];
    const int on_b = current_.assignment[at(b)];
    if (on_a == on_b ||
        !std::ranges::binary_search(problem_.groups[at(a)].devices, on_b) ||
        !std::ranges::binary_search(problem_.groups[at(b)].devices, on_a))
      continue;
    Assignment next = current_.assignment;
    std::swap(next[at(a)], next[at(b)]);
    if (try_it(next)) better = true;
  }
  return better;
}

// Away from the best, to find what single moves from there do not reach.
void PlacementSearch::shake() {
  current_ = best_;
  const size_t moves = 2 + random(std::max<size_t>(movable_.size() / 4, 1));
  for (size_t i = 0; i < moves; ++i) {
    const int group = movable_[random(movable_.size())];
    const auto& devices = problem_.groups[at(group)].devices;
    current_.assignment[at(group)] = devices[random(devices.size())];
  }
  --left_;
  current_.score = simulator_.score(current_.assignment);
  if (current_.score.better_than(best_.score)) best_ = current_;
}

// Until no move and no swap makes the current one better.
void PlacementSearch::descend() {
  while (!over() && (improve_by_moves() || improve_by_swaps())) {
  }
}

Found PlacementSearch::best_from(const std::vector<Assignment>& starts) {
  best_.score.seconds = std::numeric_limits<double>::infinity();
  one_device_.score.seconds = std::numeric_limits<double>::infinity();
  for (const Assignment& start : starts) {
    const Simulator::Score score = simulator_.score(start);
    if (score.better_than(best_.score)) best_ = {start, score};
  }
  for (int d = 0; d < problem_.devices; ++d) {
    const Assignment all = all_on(d);
    const Simulator::Score score = simulator_.score(all);
    if (score.better_than(one_device_.score)) {
      one_device_ = {all, score};
      device_ = d;
    }
  }
  if (one_device_.score.better_than(best_.score)) best_ = one_device_;
  if (movable_.empty() || over()) return best_;
  current_ = best_;
  if (all_fit_in_budget()) {
    enumerate();
    return best_;
  }
  descend();
  for (int tries = 0; tries < kPatience && !over(); ++tries) {
    const double before = best_.score.seconds;
    shake();
    descend();
    if (best_.score.seconds < before) tries = 0;
  }
  return best_;
}

}  // namespace rondo
