#include "rondo/base/interrupt.h"

#include <utility>

namespace rondo {
namespace {

// Asking may be dear: Python's takes the interpreter's lock.
constexpr Duration kEvery = std::chrono::milliseconds(100);

thread_local Interrupt* current = nullptr;

}  // namespace

Interrupt::Interrupt() noexcept : outer_(std::exchange(current, this)) {}

Interrupt::~Interrupt() { current = outer_; }

bool Interrupt::raised() {
  Interrupt* const self = current;
  if (self == nullptr || self->raised_) return self != nullptr;
  const auto now = Clock::now();
  if (now - self->asked_at_ < kEvery) return false;
  self->asked_at_ = now;
  return self->raised_ = self->ask();
}

}  // namespace rondo
