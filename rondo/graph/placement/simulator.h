// Simulator: how a step would go with a given assignment.
//
// An item is ready when all it takes has arrived at its device. A device runs
// as many ready items at once as it has threads, those of higher priority
// first. What an item gives is there at once for items of its device, and sent
// once to each other device that needs it. A link carries one tensor at a time,
// in the order in which they were made; a tensor occupies it for bytes / speed
// and arrives a latency later. Where items slow each other (contention), all
// that run change their pace whenever one begins or ends.
#pragma once

#include <vector>

#include "rondo/graph/placement/problem.h"

namespace rondo {

struct Schedule {
  struct LinkUse {
    int tensors = 0;
    double bytes = 0;
    double busy = 0;
  };
  double seconds = 0;
  double mean_end = 0;         // of all items
  int tensors = 0;             // sent over links
  std::vector<double> start;   // by item
  std::vector<double> end;     // by item
  std::vector<double> busy;    // by device: of all its threads together
  std::vector<LinkUse> links;  // from * devices + to
};

// Keeps its memory between runs. One thread at a time.
class Simulator {
 public:
  explicit Simulator(const PlacementProblem& problem);

  const Schedule& run(const Assignment& assignment);
  // Seconds of a step; and, for an assignment that needs more memory than
  // devices have, far more than any that does not. `guide` counts besides how
  // early items end, so that of several equally long ways through the step it
  // shows when one has become shorter, and what is sent: less is better where
  // nothing else differs.
  struct Score {
    double seconds = 0;
    double guide = 0;
    bool better_than(const Score& other) const {
      // Less is rounding.
      if (seconds < other.seconds * (1 - 1e-9)) return true;
      return seconds <= other.seconds && guide < other.guide * (1 - 1e-9);
    }
  };
  Score score(const Assignment& assignment);
  int runs() const { return runs_; }

 private:
  struct Event {
    double time;
    int order;  // events of one time in the order in which they were found
    int item;
    int out;     // -1: the item has ended
    int device;  // where the out arrives
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  void reset();
  void post(double time, int item, int out, int device);
  void item_ended(int item, double now);
  void arrived(int item);
  void give(int item, int out, double now);
  void start_ready(int device, double now);
  void set_pace(double now);
  // By priority, then in the order of items.
  bool later(int a, int b) const;
  int device_of(int item) const {
    return (*assignment_)[static_cast<size_t>(
        problem_.items[static_cast<size_t>(item)].group)];
  }

  const PlacementProblem& problem_;
  const Assignment* assignment_ = nullptr;
  Schedule schedule_;
  std::vector<int> missing_;             // by item: what it still waits for
  std::vector<std::vector<int>> ready_;  // by device, a heap
  std::vector<int> idle_;                // threads, by device
  std::vector<double> link_free_;        // from * devices + to
  std::vector<int> sent_;                // out * devices + to: which run
  std::vector<Event> events_;            // a heap
  int next_order_ = 0;
  // Where items slow each other: those that run, and how much each is slowed.
  struct Running {
    int item;
    int device;
    double slower;
  };
  std::vector<Running> running_;
  std::vector<int> end_event_;  // by item: the order of the one that counts
  int runs_ = 0;
};

}  // namespace rondo
