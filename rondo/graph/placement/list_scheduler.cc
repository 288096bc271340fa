#include "rondo/graph/placement/list_scheduler.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "rondo/graph/placement/busy_times.h"

namespace rondo {
namespace {

// Chains of items that follow are looked through again for each device.
constexpr int kMostDeferred = 4;

size_t at(int i) { return static_cast<size_t>(i); }

class Scheduler {
 public:
  explicit Scheduler(const PlacementProblem& problem)
      : problem_(problem),
        device_(problem.groups.size(), -1),
        finish_(problem.groups.size()),
        deferred_(problem.items.size()),
        end_(problem.items.size(), -1),
        arrival_(at(problem.outs * problem.devices), -1),
        links_(problem.links.size()),
        used_(at(problem.devices)) {
    for (const int threads : problem.threads)
      threads_.emplace_back(at(threads));
    for (int from = 0; from < problem.devices; ++from)
      for (int to = 0; to < problem.devices; ++to)
        if (from != to)
          shortest_latency_ =
              std::min(shortest_latency_, problem.link(from, to).latency);
    for (size_t g = 0; g < problem.groups.size(); ++g)
      if (problem.groups[g].devices.size() == 1)
        put(static_cast<int>(g), problem.groups[g].devices[0]);
  }

  ListSchedule schedule() {
    std::vector<int> order(problem_.items.size());
    std::iota(order.begin(), order.end(), 0);
    // What an item takes has at least its priority, and comes before it among
    // equals.
    std::ranges::stable_sort(order, std::greater<>(), [&](int i) {
      return problem_.items[at(i)].priority;
    });
    for (const int item : order) {
      if (is_deferred(item)) continue;
      run(item, choose(item));
    }
    for (const int item : order)
      if (end_[at(item)] < 0) run(item, choose(item));
    // Groups of nodes that the step does not run.
    for (size_t g = 0; g < device_.size(); ++g)
      if (device_[g] < 0) device_[g] = problem_.groups[g].devices[0];
    return {std::move(device_), std::move(finish_)};
  }

 private:
  void put(int group, int device) {
    device_[at(group)] = device;
    used_[at(device)] += problem_.groups[at(group)].state_bytes;
  }
  bool is_deferred(int item) {
    const PlacementProblem::Item& it = problem_.items[at(item)];
    if (end_[at(item)] >= 0 || device_[at(it.group)] >= 0) return false;
    if (!it.inputs.empty() && std::ranges::max(it.seconds) >= shortest_latency_)
      return false;
    int depth = 1;
    for (const auto& in : it.inputs) {
      if (end_[at(in.item)] >= 0) return false;
      depth = std::max(depth, deferred_[at(in.item)] + 1);
    }
    if (depth > kMostDeferred) return false;
    deferred_[at(item)] = depth;
    return true;
  }
  bool fits(int group, int device) const {
    const double memory = problem_.memory[at(device)];
    return memory <= 0 ||
           used_[at(device)] + problem_.groups[at(group)].state_bytes <= memory;
  }
  struct Slot {
    BusyTimes* thread;
    double start;
  };
  // Gaps between what is booked already count: items come in order of priority,
  // not of time.
  Slot earliest(int device, double ready, double seconds) {
    Slot best{nullptr, 0};
    for (BusyTimes& thread : threads_[at(device)]) {
      const double start = thread.earliest(ready, seconds);
      if (!best.thread || start < best.start) best = {&thread, start};
    }
    return best;
  }
  // Where a group is, or would be if it followed an item to `device`.
  int device_for(int group, int device) const {
    if (device_[at(group)] >= 0) return device_[at(group)];
    const auto& allowed = problem_.groups[at(group)].devices;
    return std::ranges::binary_search(allowed, device) && fits(group, device)
               ? device
               : allowed[0];
  }

  // When an item that is not there yet could be done, if it followed to
  // `device`; only about, since nothing is booked.
  double deferred_end(int item, int device) {
    const PlacementProblem::Item& it = problem_.items[at(item)];
    const int there = device_for(it.group, device);
    double ready = 0;
    for (const auto& in : it.inputs)
      ready = std::max(ready, ready_at(in, there, false));
    const double seconds = it.seconds[at(there)];
    return earliest(there, ready, seconds).start + seconds;
  }

  // When what `in` stands for is at `device`; with `book`, it is sent there.
  double ready_at(const PlacementProblem::In& in, int device, bool book) {
    const PlacementProblem::Item& from = problem_.items[at(in.item)];
    const bool there = end_[at(in.item)] >= 0;
    const double end =
        there ? end_[at(in.item)] : deferred_end(in.item, device);
    const int source = device_for(from.group, device);
    if (source == device || from.copied) return end;
    double& arrival =
        arrival_[at((from.first_out + in.out) * problem_.devices + device)];
    if (arrival >= 0) return arrival;
    const size_t number = at(source * problem_.devices + device);
    const DeviceLink& link = problem_.links[number];
    const double occupied = from.outs[at(in.out)].bytes / link.bytes_per_s;
    const double begins = links_[number].earliest(end, occupied);
    const double arrives = begins + occupied + link.latency;
    if (book) {
      links_[number].book(begins, occupied);
      arrival = arrives;
    }
    return arrives;
  }

  // When the item's whole group would be done on `device`, if the rest of it
  // ran right behind the item.
  double finish_on(int item, int device) {
    const PlacementProblem::Item& it = problem_.items[at(item)];
    double ready = 0;
    double following = 0;
    for (const auto& in : it.inputs) {
      ready = std::max(ready, ready_at(in, device, false));
      // Those that would come along run one after the other.
      const auto& from = problem_.items[at(in.item)];
      if (end_[at(in.item)] < 0 && device_for(from.group, device) == device)
        following += from.seconds[at(device)] / problem_.threads[at(device)];
    }
    const double seconds = problem_.groups[at(it.group)].seconds[at(device)];
    return earliest(device, std::max(ready, following), seconds).start +
           seconds;
  }

  int choose(int item) {
    const int group = problem_.items[at(item)].group;
    if (device_[at(group)] >= 0) return device_[at(group)];
    auto& finish = finish_[at(group)];
    finish.assign(at(problem_.devices), -1);
    const auto& allowed = problem_.groups[at(group)].devices;
    int best = -1;
    for (const int d : allowed) {
      finish[at(d)] = finish_on(item, d);
      if (fits(group, d) && (best < 0 || finish[at(d)] < finish[at(best)]))
        best = d;
    }
    // Nowhere is room: the search may make some.
    return best >= 0 ? best : allowed[0];
  }

  void run(int item, int device) {
    const PlacementProblem::Item& it = problem_.items[at(item)];
    if (device_[at(it.group)] < 0) put(it.group, device);
    double ready = 0;
    for (const auto& in : it.inputs) {
      const int group = problem_.items[at(in.item)].group;
      if (end_[at(in.item)] < 0) run(in.item, device_for(group, device));
      ready = std::max(ready, ready_at(in, device, true));
    }
    const double seconds = it.seconds[at(device)];
    const Slot slot = earliest(device, ready, seconds);
    slot.thread->book(slot.start, seconds);
    end_[at(item)] = slot.start + seconds;
  }

  const PlacementProblem& problem_;
  double shortest_latency_ = std::numeric_limits<double>::infinity();
  Assignment device_;  // by group; -1: not yet
  std::vector<std::vector<double>> finish_;
  // By item: the length of the chain of deferred items that ends with it.
  std::vector<int> deferred_;
  std::vector<double> end_;       // by item; negative: not run yet
  std::vector<double> arrival_;   // out * devices + to; negative: not sent
  std::vector<BusyTimes> links_;  // from * devices + to
  std::vector<double> used_;      // bytes, by device
  std::vector<std::vector<BusyTimes>> threads_;  // by device
};

}  // namespace

ListSchedule list_schedule(const PlacementProblem& problem) {
  return Scheduler(problem).schedule();
}

}  // namespace rondo
