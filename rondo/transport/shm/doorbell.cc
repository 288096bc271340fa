#include "rondo/transport/shm/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rondo {

void Doorbell::sleep(uint32_t ticket, Duration at_most) {
  const auto ns = at_most.count();
  const timespec time{.tv_sec = ns / 1'000'000'000,
                      .tv_nsec = ns % 1'000'000'000};
  // Not FUTEX_PRIVATE: the word lies in memory shared with other processes.
  syscall(SYS_futex, &rings, FUTEX_WAIT, ticket, &time, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void Doorbell::ring_slow() {
  rings.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rondo
