// What NetworkSimulator keeps of plans, ranks and links. Internal to this
// folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "rondo/collectives/plan.h"

namespace rondo {

// Whether all before it has to be finished, and all behind it waits.
inline bool is_barrier(ActionKind kind) {
  return !is_message(kind) && kind != ActionKind::kCopy &&
         kind != ActionKind::kReduce && kind != ActionKind::kFinish;
}

// An action of a plan, and how far it is. Blocks are done in order.
struct Act {
  const Action* action = nullptr;  // nullptr: a join between operations
  ActionKind kind = ActionKind::kJoin;
  int rank = 0;
  int operation = 0;
  int after = -1;  // these two are numbers of acts
  int first_dependent = -1;
  int next_dependent = -1;
  int channel = -1;
  double bytes = 0;
  int blocks = 1;
  int grain = 1;    // blocks that are of use only together
  int sent = 0;     // of a send: blocks that were given to the link
  int arrived = 0;  // of a receive
  int done = 0;

  // Blocks that those who wait for it may have.
  int released() const { return done == blocks ? done : done / grain * grain; }
};

// The messages from one rank to another, in the order of both plans.
struct Channel {
  int link = 0;             // the first on the way
  std::vector<int> others;  // those behind it
  double latency = 0;
  std::vector<int> sends, receives;  // acts
  size_t next_send = 0;
  size_t next_receive = 0;
  double tag = 0;  // bytes that it has had of its link, in the link's count
  bool waiting = false;  // for its turn
};

struct Link {
  double rate = 1;
  double burst = 0;  // seconds that it may be ahead of its rate
  // The second at which it has sent all, at its rate. What was sent before the
  // step has used the burst up.
  double free = 0;
  bool busy = false;
  double turn = 0;  // the tag of the channel that it serves
  // Channels with a block, by tag.
  std::priority_queue<std::pair<double, int>,
                      std::vector<std::pair<double, int>>, std::greater<>>
      waiting = {};

  // The second at which bytes are through that come to it at `now`.
  double send(double now, double bytes) {
    free = std::max(free, now - burst) + bytes / rate;
    return std::max(now, free);
  }
};

// One rank's way through its plans.
struct Rank {
  int begin = 0, end = 0;  // its acts
  int limit = 0;           // the next barrier; acts before it may run
  int unfinished = 0;      // of those
};

struct Event {
  enum class Kind { kReady, kLinkFree, kArrival, kPassed };
  double time;
  int64_t order;
  Kind kind;
  int a;  // operation, link, channel or rank
  int b;  // rank, act
  bool operator>(const Event& other) const {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

}  // namespace rondo
