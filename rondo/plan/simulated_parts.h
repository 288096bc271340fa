// What NetworkSimulator keeps of plans, ranks and links. Internal to this
// folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>
#include <vector>

#include "rondo/collectives/plan.h"
#include "rondo/plan/fifo.h"

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
  int arrived = 0;  // of a receive: of all blocks, in any order
  int done = 0;     // of a receive: those before the first that is missing
  // On a server: blocks of whole parts that it has added to the others', and
  // the second at which it has added all that have come.
  int added = 0;
  double free = 0;

  // Of its blocks, those that are of use.
  int whole() const { return done == blocks ? done : done / grain * grain; }
};

// The messages from one rank to another, in the order of both plans.
struct SimulatedChannel {
  int link = 0;                // the first on the way
  std::vector<int> others;     // those behind it
  std::vector<int> back;       // on the way of acknowledgements
  double acknowledgement = 0;  // bytes of these for each that has come
  double queued = 0;  // bytes of a socket in its host's queue; 0: as it likes
  double latency = 0;
  std::vector<int> sends, receives;  // acts
  int first_stream = 0;              // its streams have numbers from here
  int streams = 1;
  // Blocks; with a window, those count as sent that were written to a socket.
  int sent = 0, arrived = 0;
  int answers = -1;  // the channel back, where what is sent waits for answers
  int asks = -1;     // the channel that waits for what comes by this one
};

// A socket of a channel: some of the blocks, in order.
struct SimulatedStream {
  // The next block that is written to it, that it sends, or that arrives.
  struct Place {
    size_t message = 0;  // of those of the channel
    int block = 0;
  };
  int channel = 0;
  int index = 0;  // among the channel's
  // With a window, what is sent was written to the socket before.
  Place next_write = {};
  Place next_send = {};
  Place next_receive = {};
  int unsent = 0;  // blocks that were written and not sent
  double tag = 0;  // bytes that it has had of its link, in the link's count
  bool waiting = false;  // for its turn, or for its link to be free again
  int sending = -1;      // the act of the block that its link has
  double under_way = 0;  // bytes that were written and are not acknowledged
  bool full = false;     // its window was, and has not got much emptier
  // Of these: blocks in the queue of its host's link, and on their way, each
  // with its bytes, and with the second at which it was sent.
  Fifo<int> queued = {};
  double queued_bytes = 0;
  Fifo<double> flying = {};
  double flying_bytes = 0;
  // As TCP has them: what may be on its way, and a mean of what there and back
  // took.
  double congestion_window = 0;
  double round_trip = 0;
  double last_sent = 0;

  // A socket that has sent nothing for a time-out has its congestion window
  // halved, and once more for each further one, and begins to grow anew: by
  // what is acknowledged. Where acknowledgements wait in queues that takes
  // long.
  void restart(double now) {
    constexpr double kLeast = 10 * 1448;
    constexpr double kLeastTimeout = 0.2;  // beyond a round trip
    const double timeout = round_trip + kLeastTimeout;
    double idle = now - last_sent;
    while (idle > timeout && congestion_window > kLeast) {
      congestion_window = std::max(kLeast, congestion_window / 2);
      idle -= timeout;
    }
  }
  void acknowledged(double now, double bytes) {
    constexpr double kShare = 1.0 / 8;
    round_trip += kShare * (now - flying.front() - round_trip);
    flying.pop();
    flying_bytes -= bytes;
    congestion_window += bytes;
  }
};

// A block that is between two links.
struct Passage {
  int stream = 0;
  size_t hop = 0;  // the link of the channel's others that is next
  double bytes = 0;
  double end = 0;  // when the last byte is through the link before
};

struct SimulatedLink {
  double rate = 1;
  double burst = 0;       // seconds that it may be ahead of its rate
  double burst_rate = 1;  // bytes a second of what is
  // The second at which it has sent all, at its rate, and at that of bursts.
  double free = 0;
  double passed = 0;
  bool busy = false;
  double turn = 0;  // the tag of the stream that it serves
  // Streams with a block, by tag.
  std::priority_queue<std::pair<double, int>,
                      std::vector<std::pair<double, int>>, std::greater<>>
      waiting = {};

  // The second at which bytes are through that come to it at `now`.
  double send(double now, double bytes) {
    free = std::max(free, now - burst) + bytes / rate;
    passed = std::max(passed, now) + bytes / (burst > 0 ? burst_rate : rate);
    return std::max(passed, free);
  }
  // Of what was sent last.
  double last_rate() const {
    return burst > 0 && passed > free ? burst_rate : rate;
  }
};

// One rank's way through its plans.
struct Rank {
  int begin = 0, end = 0;  // its acts
  int limit = 0;           // the next barrier; acts before it may run
  int unfinished = 0;      // of those, but for what is apart
};

}  // namespace rondo
