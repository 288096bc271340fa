#include "rondo/base/interrupt.h"

#include <utility>

namespace rondo {
namespace {

// Asking may be dear (Python's takes the interpreter's lock), so not at once.
constexpr Duration kEvery = std::chrono::milliseconds(50);

thread_local Interrupt* innermost = nullptr;

}  // namespace

Interrupt::Interrupt(std::function<bool()> ask)
    : ask_(std::move(ask)), outer_(std::exchange(innermost, this)) {}

Interrupt::~Interrupt() { innermost = outer_; }

bool Interrupt::raised() {
  Interrupt* const self = innermost;
  if (self == nullptr || self->raised_) return self != nullptr;
  const auto now = Clock::now();
  const bool first = !std::exchange(self->waiting_, true);
  if (!first && now - self->asked_at_ < kEvery) return false;
  self->asked_at_ = now;
  if (!first) self->raised_ = self->ask_();
  return self->raised_;
}

}  // namespace rondo
