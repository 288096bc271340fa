// Waiter: how a rank waits within one operation. It looks, spins while that is
// harmless, yields, and then sleeps, asking now and then whether it makes sense
// to go on: whether the group has failed, a peer has left, time is up, or the
// caller gives up (Interrupt).
#pragma once

#include <sched.h>

#include <span>

#include "rondo/base/clock.h"
#include "rondo/collectives/group.h"

namespace rondo {

class Waiter {
 public:
  // `timeout` without progress, and `total` for the whole operation (0: none).
  Waiter(Group& group, const OpTag& tag, Duration timeout, Duration total)
      : group_(group),
        tag_(tag),
        timeout_(timeout),
        total_(total),
        spins_(group.may_spin() ? kSpins : 0),
        most_yields_(group.may_spin() ? kYields : kCrowdedYields),
        long_yield_(group.may_spin() ? kLongYield : kCrowdedLongYield) {
    if (group.contested()) stop_yielding();
  }

  // Something moved: start patient again.
  void progressed() {
    looks_ = yields_ = 0;
    stalled_ = false;
  }
  // To be asked while things move: ok to go on, for all that the caller says.
  Status moving() {
    constexpr uint32_t kSeldom = 256;
    return ++moves_ % kSeldom != 0 ? Status() : unless_interrupted();
  }
  // Nothing moved. True: look again right away; false: time to sleep. `cost` is
  // what a look costs, in pauses of the processor: system calls count more.
  bool spin(int cost = 1) {
    if (looks_ < spins_) {
      looks_ += cost;
      cpu_pause();
      return true;
    }
    // A peer that shares this core, or was put aside for another program, gets
    // on only if this rank gives way.
    if (yields_ < most_yields_) {
      ++yields_;
      yield();
      return true;
    }
    return false;
  }
  // To be asked before each sleep: ok to go on waiting for `waiting_on`.
  Status check(std::span<const int> waiting_on);
  // For how long nothing has moved, as of the last check.
  Duration stalled() const;
  // How long to sleep at most before the next check.
  Duration nap() const;

  // Waits until ready() for something that `peer` on this host does.
  template <class Ready>
  Status wait(int peer, Ready ready) {
    while (!ready()) {
      if (spin()) continue;
      Doorbell& bell = group_.doorbell();
      const uint32_t ticket = bell.prepare();
      if (ready()) {
        bell.dismiss();
        break;
      }
      Status status = check({&peer, 1});
      if (status.ok() && group_.left(peer) && !ready())
        status = group_.deserted(tag_, peer);
      if (!status.ok()) {
        bell.dismiss();
        return status;
      }
      bell.sleep(ticket, nap());
    }
    progressed();
    return {};
  }

 private:
  Status unless_interrupted();

  void yield() {
    const auto before = Clock::now();
    sched_yield();
    if (Clock::now() - before < long_yield_) return;
    if (group_.yielded_long()) stop_yielding();
  }
  void stop_yielding() {
    if (group_.may_spin()) spins_ = kContestedSpins;
    most_yields_ = 0;
  }

  static constexpr int kSpins = 100;  // some 4 us
  // Sleeping is dear: the kernel likes to wake a sleeper on the core of whoever
  // wakes it. With a core for every rank, look on for about half a millisecond.
  static constexpr int kYields = 1000;
  static constexpr int kCrowdedYields = 100;
  // A yield that takes longer may have let another program run, which would
  // keep the core for milliseconds each time; a peer that shares the core is
  // seldom at work for as long. ContestedCores decides which it was. Where
  // another program wants the core this rank does not yield any more in this
  // operation, nor in others for as long as that is believed: if the core is
  // its own it looks on for some 100 us, and then sleeps. Who is woken gets a
  // core sooner than who has given it away.
  static constexpr Duration kLongYield = std::chrono::microseconds(100);
  static constexpr Duration kCrowdedLongYield = std::chrono::milliseconds(2);
  static constexpr int kContestedSpins = 2500;

  Group& group_;
  const OpTag& tag_;
  Duration timeout_;
  Duration total_;
  int spins_;
  int most_yields_;
  Duration long_yield_;
  int looks_ = 0;
  int yields_ = 0;
  uint32_t moves_ = 0;
  bool started_ = false;
  bool stalled_ = false;     // since stalled_at_
  Clock::time_point start_;  // of the first check
  Clock::time_point stalled_at_;
  Clock::time_point inspected_at_;
};

}  // namespace rondo
