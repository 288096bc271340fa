#include "rondo/runtime/local_rendezvous.h"

#include <utility>
#include <vector>

namespace rondo {
namespace {

Status twice(std::string_view what, const std::string& key) {
  return error(Code::kInternal, "\"{}\" was {} twice in a step", key, what);
}

}  // namespace

Status LocalRendezvous::send(const std::string& key, Parcel parcel) {
  Done waiter;
  {
    const std::lock_guard lock(mutex_);
    if (!why_.ok()) return why_;
    const auto [at, first] = meetings_.try_emplace(key);
    if (first) {
      at->second.parcel = std::move(parcel);
      return {};
    }
    if (!at->second.waiter) return twice("sent", key);
    waiter = std::move(at->second.waiter);
    meetings_.erase(at);
  }
  waiter(std::move(parcel));
  return {};
}

void LocalRendezvous::recv(const std::string& key, Done done) {
  Result<Parcel> result = Parcel();
  {
    const std::lock_guard lock(mutex_);
    if (!why_.ok()) {
      result = why_;
    } else {
      const auto [at, first] = meetings_.try_emplace(key);
      if (first) {
        at->second.waiter = std::move(done);
        return;
      }
      if (at->second.waiter) {
        result = twice("asked for", key);
      } else {
        result = std::move(at->second.parcel);
        meetings_.erase(at);
      }
    }
  }
  done(std::move(result));
}

void LocalRendezvous::abort(const Status& why) {
  decltype(meetings_) gone;
  {
    const std::lock_guard lock(mutex_);
    if (!why_.ok()) return;
    why_ = why;
    gone.swap(meetings_);
  }
  for (auto& [key, meeting] : gone)
    if (meeting.waiter) meeting.waiter(why);
}

void LocalRendezvous::clear() {
  decltype(meetings_) gone;
  const std::lock_guard lock(mutex_);
  why_ = {};
  gone.swap(meetings_);
}

}  // namespace rondo
