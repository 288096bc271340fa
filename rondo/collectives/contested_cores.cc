#include "rondo/collectives/contested_cores.h"

#include <algorithm>

namespace rondo {

bool ContestedCores::yielded_long(int wanting, Clock::time_point at) {
  if (wanting > 0 && wanting <= expected_) return false;
  const int64_t last = belief_.load(std::memory_order_relaxed);
  const bool again =
      ever_found() && ticks(at) - until_.load(std::memory_order_relaxed) < last;
  const int64_t belief =
      again ? std::min(2 * last, kLongestBelief.count()) : kFirstBelief.count();
  belief_.store(belief, std::memory_order_relaxed);
  until_.store(ticks(at) + belief, std::memory_order_relaxed);
  return true;
}

}  // namespace rondo
