// KvMode: when a parameter server applies what workers push, and who waits.
#pragma once

#include <cstdint>

namespace rondo {

enum class KvMode : uint8_t {
  // A step's mean is applied once all workers have pushed it, or all but the
  // backup workers; what comes later is dropped. A pull waits for the step.
  kSync,
  kAsync,  // each push is applied when it comes
  // As kAsync, but the pull of a worker that is more than `staleness` pushes
  // ahead of the slowest waits for that one.
  kBounded,
};

}  // namespace rondo
