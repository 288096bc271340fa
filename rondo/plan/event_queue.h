// EventQueue: what is going to happen in NetworkSimulator, earliest first; what
// is at the same time in the order in which it was posted. Internal to this
// folder.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "rondo/plan/fifo.h"

namespace rondo {

struct Event {
  enum class Kind {
    kReady,         // operation a, on rank b
    kLinkFree,      // link a has sent a block of stream b
    kLeft,          // a block of act a, of stream b, is through the first link
    kHop,           // the first byte of passage a is through a link
    kArrival,       // a block of stream a has
    kAdded,         // act a's blocks until b, by a server
    kAcknowledged,  // b bytes of stream a
    kPassed,        // rank a is through its barrier
  };
  double time;
  int64_t order;
  Kind kind;
  int a;
  int b;
  int lane;
  bool operator>(const Event& other) const {
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

// Events that come in order, such as those of blocks that a link sends one
// after another, are posted to a lane: only the first of a lane is in the heap.
// A hundred thousand blocks that wait for a busy link make it no slower so.
class EventQueue {
 public:
  static constexpr int kNoLane = -1;

  explicit EventQueue(size_t lanes) : lanes_(lanes) {}

  bool empty() const { return heap_.empty(); }
  void post(double time, Event::Kind kind, int a, int b, int lane) {
    const Event event{time, order_++, kind, a, b, lane};
    if (lane == kNoLane) return heap_.push(event);
    Lane& in = lanes_[static_cast<size_t>(lane)];
    if (in.used && time >= in.last) {
      in.last = time;
      in.waiting.push(event);
      return;
    }
    // The first of its lane, or one that is out of order there.
    Event alone = event;
    if (in.used) alone.lane = kNoLane;
    if (!in.used) in.last = time;
    in.used = true;
    heap_.push(alone);
  }
  Event pop() {
    const Event event = heap_.top();
    heap_.pop();
    if (event.lane != kNoLane) {
      Lane& in = lanes_[static_cast<size_t>(event.lane)];
      in.used = !in.waiting.empty();
      if (in.used) {
        heap_.push(in.waiting.front());
        in.waiting.pop();
      }
    }
    return event;
  }

 private:
  struct Lane {
    bool used = false;  // its first is in the heap
    double last = 0;    // the time of its last one
    Fifo<Event> waiting = {};
  };
  std::vector<Lane> lanes_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> heap_;
  int64_t order_ = 0;
};

}  // namespace rondo
