// ContestedCores: whether other programs want the cores of this host's ranks,
// as far as a rank has found out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "rondo/base/clock.h"

namespace rondo {

// A rank that yields its core to such a program has it back only after
// milliseconds, and finds that out by a yield that takes long. So what was
// found is believed for a while, in which ranks do not yield (Waiter).
// Thread-safe but for expect().
class ContestedCores {
 public:
  // A program that comes and goes is soon forgotten. To see that one has stayed
  // costs another long yield: each time that it has, the belief lasts twice as
  // long as before.
  static constexpr Duration kFirstBelief = std::chrono::milliseconds(20);
  static constexpr Duration kLongestBelief = std::chrono::seconds(1);

  // So many threads that want cores at once are nothing strange: as many as
  // there are ranks here, or cores if those are more. Before all others.
  void expect(int threads) { expected_ = threads; }

  // Whether other programs are believed to want the cores.
  bool found(Clock::time_point at) const {
    return ticks(at) < until_.load(std::memory_order_relaxed);
  }
  bool ever_found() const {
    return until_.load(std::memory_order_relaxed) != 0;
  }

  // A yield took long: it let a peer run, the system, or another program.
  // Whether it is taken for another program: more threads than expected want
  // cores right now, `wanting` of them in all, or that is not known (0).
  bool yielded_long(int wanting, Clock::time_point at);

 private:
  static int64_t ticks(Clock::time_point at) {
    return at.time_since_epoch().count();
  }

  int expected_ = 1;
  std::atomic<int64_t> until_ = 0;   // 0: never found
  std::atomic<int64_t> belief_ = 0;  // how long the last one is believed
};

}  // namespace rondo
