// PyTorch's time-outs as Rondo's.
#pragma once

#include <algorithm>
#include <chrono>

#include "rondo/base/clock.h"

namespace rondo::torch {

// Rondo counts nanoseconds, which end after some centuries; programs say "for
// ever" with more. One is enough.
inline Duration duration_of(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kCentury = std::chrono::hours(876'000);
  return std::min(timeout, kCentury);
}

}  // namespace rondo::torch
