#include "rondo/kernels/waiting.h"

#include "rondo/base/attempt.h"

namespace rondo {

void WaitingKernel::finish() {
  // Before done_: with that, the run may be over, and its cancellation gone.
  context_.cancellation().drop(wake_);
  if (status_.ok()) status_ = attempt([&] { return deliver(context_); });
  done_(status_);
}

void Waitable::wait(const std::shared_ptr<WaitingKernel>& waiter) {
  // First the wake, then the list: once listed, the wait may end any time, and
  // the run with it.
  waiter->wake_ = waiter->context_.cancellation().on_cancel(
      [self = shared_from_this(), waiter] { self->cancel(waiter); });
  update([&](Ended& ended) {
    if (waiter->over_) {
      ended.push_back(waiter);
      return;
    }
    waiter->listed_ = true;
    list(waiter, ended);
  });
}

void Waitable::end(const std::shared_ptr<WaitingKernel>& waiter, Status status,
                   Ended& ended) {
  waiter->over_ = true;
  waiter->status_ = std::move(status);
  ended.push_back(waiter);
}

void Waitable::cancel(const std::shared_ptr<WaitingKernel>& waiter) {
  update([&](Ended& ended) {
    if (waiter->over_) return;
    const Status reason = waiter->context_.cancellation().reason();
    if (waiter->listed_) {
      unlist(waiter);
      end(waiter, reason, ended);
    } else {
      // wait() has not listed it yet, and will see this.
      waiter->over_ = true;
      waiter->status_ = reason;
    }
  });
}

void Waitable::tell(const Ended& ended) {
  for (const auto& waiter : ended) waiter->finish();
}

}  // namespace rondo
