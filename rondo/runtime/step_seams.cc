// The part of Step that sends and receives what crosses to other devices.
#include <utility>

#include "rondo/base/attempt.h"
#include "rondo/runtime/step.h"

namespace rondo {
namespace {

Status no_others() {
  return error(Code::kInvalidArgument,
               "this run has one device: Send and Recv are for sessions to "
               "make where they cut a graph");
}

}  // namespace

void Step::send_parcel(const Ready& ready, Lock& lock) {
  const StepPlan::Item& it = item(ready.item);
  if (locks_) lock.unlock();
  const auto start = Clock::now();
  const Status status = attempt([&] {
    Rendezvous::Parcel parcel{.dead = ready.dead};
    if (!ready.dead) parcel = it.crossing->pack(inputs_of(ready)[0], device_);
    return options_.rendezvous ? options_.rendezvous->send(it.crossing->key(),
                                                           std::move(parcel))
                               : no_others();
  });
  add_to_timeline(it, start);
  if (locks_) lock.lock();
  complete(ready, {}, status);
}

void Step::start_recv(const Ready& ready, Lock& lock) {
  if (!options_.rendezvous) {
    complete(ready, {}, no_others());
    return;
  }
  lock.unlock();
  options_.rendezvous->recv(
      item(ready.item).crossing->key(),
      [this, ready, start = Clock::now()](Result<Rendezvous::Parcel> parcel) {
        end_recv(ready, std::move(parcel), start);
      });
  lock.lock();
}

void Step::end_recv(Ready ready, Result<Rendezvous::Parcel> parcel,
                    Clock::time_point start) {
  const StepPlan::Item& it = item(ready.item);
  Tensor tensor;
  Status status = parcel.status();
  if (status.ok()) {
    ready.dead = parcel->dead;
    if (!ready.dead)
      status = attempt([&]() -> Status {
        RONDO_ASSIGN_OR_RETURN(
            tensor, it.crossing->unpack(std::move(*parcel), device_));
        return {};
      });
  }
  add_to_timeline(it, start);
  const std::lock_guard guard(mutex_);
  complete(ready, {&tensor, 1}, status);
  tell_others();
}

}  // namespace rondo
