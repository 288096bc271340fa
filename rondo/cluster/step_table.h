// StepTable: the tensors that the steps of one task have sent and nobody has
// taken yet, and those who wait for such.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "rondo/base/mutex.h"
#include "rondo/runtime/rendezvous.h"

namespace rondo {

// How a rendezvous asks another task: `done` once, from any thread.
using FetchRemote = std::function<void(int64_t step, const std::string& key,
                                       Rendezvous::Done done)>;

// A step exists here once its run begins, or once somebody asks for one of its
// tensors, whichever comes first. It goes when its run is over and all that it
// sent was taken, or when it is aborted; that it was, is remembered for a
// while, so that who comes late gets an answer. Thread-safe.
class StepTable : public std::enable_shared_from_this<StepTable> {
 public:
  // `remote` is asked for keys that are sent elsewhere, as `is_local` says.
  StepTable(std::function<bool(const std::string& key)> is_local,
            FetchRemote remote);

  // For the run of a step on this task: sends stay here; recv takes what this
  // task sent, or asks the task that sends it. The run is over when it is let
  // go.
  std::shared_ptr<Rendezvous> rendezvous(int64_t step);
  // For another task, which takes the tensor.
  void get(int64_t step, const std::string& key, Rendezvous::Done done);
  // Everybody who waits in the step, now or later, gets `why`.
  void abort(int64_t step, const Status& why);
  // The same for all steps that there are.
  void abort_all(const Status& why);
  // Steps that have begun here and are not over.
  size_t size() const;
  // Whether the step is one of them: it runs, or not all that it sent was
  // taken.
  bool holds(int64_t step) const;

 private:
  class StepRendezvous;
  struct Step {
    std::unordered_map<std::string, Rendezvous::Parcel> sent;
    std::unordered_map<std::string, Rendezvous::Done> awaited;
    // Of recv: what another task was asked for.
    std::unordered_map<std::string, Rendezvous::Done> asked;
    bool begun = false;
    bool run_over = false;
    Clock::time_point made = Clock::now();
  };
  Status send(int64_t step, const std::string& key, Rendezvous::Parcel parcel);
  void recv(int64_t step, const std::string& key, Rendezvous::Done done);
  void arrive(int64_t step, const std::string& key,
              Result<Rendezvous::Parcel> parcel);
  // The run of the step here is over.
  void finish(int64_t step);
  // Why the step is over; ok while it is not.
  Status over(int64_t step) const RONDO_REQUIRES(mutex_);
  void forget_if_done(int64_t step) RONDO_REQUIRES(mutex_);
  void remember(int64_t step, Status why) RONDO_REQUIRES(mutex_);
  void drop_strays();

  const std::function<bool(const std::string& key)> is_local_;
  const FetchRemote remote_;
  mutable Mutex mutex_;
  std::unordered_map<int64_t, Step> steps_ RONDO_GUARDED_BY(mutex_);
  // Steps that are over, with why if they were aborted; oldest first.
  std::unordered_map<int64_t, Status> ended_ RONDO_GUARDED_BY(mutex_);
  std::deque<int64_t> ended_order_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
