// Doorbell: how a rank that sleeps is woken by whoever has something for it.
//
// One per rank, in its board. The waiter: prepare(), look once more whether
// what it waits for has come, then sleep(). The waker: publish with a
// sequentially consistent store, then ring(). Either the waiter's second look
// sees what was published or the waker's ring() sees the sleeper: both sides'
// accesses are in one total order. Ringing costs one load while nobody sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "rondo/base/clock.h"

namespace rondo {

struct alignas(64) Doorbell {
  std::atomic<uint32_t> rings{0};
  std::atomic<uint32_t> sleepers{0};

  // Announces that this rank is about to sleep; returns the ticket for sleep().
  uint32_t prepare() {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    return rings.load(std::memory_order_seq_cst);
  }
  // Withdraws the announcement without sleeping.
  void dismiss() { sleepers.fetch_sub(1, std::memory_order_relaxed); }
  // Sleeps until rung after prepare() or `at_most` has passed.
  void sleep(uint32_t ticket, Duration at_most);

  void ring() {
    if (sleepers.load(std::memory_order_seq_cst) != 0) ring_slow();
  }

 private:
  void ring_slow();
};
static_assert(sizeof(Doorbell) == 64);

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace rondo
