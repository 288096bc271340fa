// ExchangeGroup: the exchanges of one group of ranks, put in order.
//
// Ranks have to issue their exchanges in the same order, and scheduling differs
// from rank to rank. So exchanges are issued by run, in the order in which runs
// began, and within a run by sequence number. What is ready early is held back;
// nothing else waits for it. A thread of the group's own issues them; some go
// on after that, while later ones are issued.
//
// Units that are neighbours travel together, as buckets of a size that the
// group tunes where it is made so: see bucket_tuner.h.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/kernels/bucket_tuner.h"
#include "rondo/kernels/exchange.h"
#include "rondo/kernels/exchange_buckets.h"
#include "rondo/kernels/kernel.h"

namespace rondo {

class ExchangeRun;

// Any thread. Always owned by a shared_ptr.
class RONDO_API ExchangeGroup
    : public std::enable_shared_from_this<ExchangeGroup> {
 public:
  using Work = std::function<Status(Exchange&)>;

  // With a usual limit of bytes, the buckets that units travel in are tuned,
  // from that on; with 0, each unit travels alone. The same on all ranks.
  ExchangeGroup(std::string name, std::unique_ptr<Exchange> exchange,
                int64_t usual_limit = 0);
  // No run must be under way.
  ~ExchangeGroup();
  ExchangeGroup(const ExchangeGroup&) = delete;
  ExchangeGroup& operator=(const ExchangeGroup&) = delete;

  // The group of this name; an error that says how to make one where there is
  // none.
  static Result<std::shared_ptr<ExchangeGroup>> find(const std::string& name);
  // Makes it known to find() for as long as it lives; an error when the name is
  // taken.
  static Status publish(const std::shared_ptr<ExchangeGroup>& group);

  const std::string& name() const { return name_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  // What servers keep for it; nullptr: nothing, or it is closed.
  std::shared_ptr<Parameters> parameters();

  // What was tuned, for each kind of step that this group has made.
  std::vector<BucketChoice> choices();

  // Before a run starts: it will come to this exchange, once.
  void expect(ExchangeRun& run, const ExchangeUnit& unit);
  // It will not come to it after all, nor do the other ranks.
  void leave_out(ExchangeRun& run, int64_t sequence);
  // Does `work` in its turn, without the caller's thread, then calls `done`
  // once.
  void submit(ExchangeRun& run, int64_t sequence, Cancellation& cancellation,
              Work work, AsyncKernel::Done done);
  // The same for a reduction, of these tensors; a unit's may travel with those
  // of its neighbours.
  void submit(ExchangeRun& run, int64_t sequence, Cancellation& cancellation,
              std::span<Tensor> tensors, AsyncKernel::Done done);
  // After a run. One that failed leaves the others waiting in an exchange, or
  // with updates that it did not make, so it ends the group. The end of the
  // data before the first exchange does not: the others may have come to theirs
  // too.
  void end(ExchangeRun& run, const Status& status);
  // Ends the group; what is submitted later fails.
  void close();

 private:
  friend class ExchangeRun;
  struct Call;
  using Calls = std::vector<std::shared_ptr<Call>>;  // that travel together
  void submit(ExchangeRun& run, int64_t sequence,
              const std::shared_ptr<Call>& call);
  void cancel(const std::shared_ptr<Call>& call);
  static void finish(Call& call, const Status& status);
  BucketTuner& tuner_of(const ExchangeRun& run);
  Calls next();
  Calls together(ExchangeRun& run, int64_t last);
  void issue(const Calls& calls);
  // They were exchanged, or not. On any thread.
  void over(const Calls& calls, const Status& status);
  Status settle(BucketTuner& tuner, Exchange& exchange);
  void serve();

  const std::string name_;
  const int rank_;
  const int size_;
  const int64_t usual_limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::shared_ptr<Exchange> exchange_;  // nullptr: closed
  std::deque<ExchangeRun*> runs_;       // under way, in the order of beginning
  // By the exchanges of a step; used by the runs under way.
  std::map<std::vector<ExchangeUnit>, BucketTuner> tuners_;
  // Those that were closed while their last exchange was under way: not every
  // thread may end them.
  std::vector<std::shared_ptr<Exchange>> left_behind_;
  bool stopped_ = false;
  std::thread thread_;
};

// What one run has to do with one group: kept in the run's resources. All
// guarded by the group's mutex.
class ExchangeRun final : public Resource {
 private:
  friend class ExchangeGroup;
  std::map<int64_t, ExchangeUnit> all_;
  std::set<int64_t> expected_;  // not yet issued
  std::map<int64_t, std::shared_ptr<ExchangeGroup::Call>> ready_;
  bool listed_ = false;
  bool issued_any_ = false;
  Clock::time_point began_;
  BucketTuner* tuner_ = nullptr;  // once it has issued a unit
  BucketTuner::Step step_;
};

}  // namespace rondo
