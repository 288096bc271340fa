// ExchangeGroup: the exchanges of one group of ranks, put in order.
//
// Ranks have to issue their exchanges in the same order, and scheduling differs
// from rank to rank. So exchanges are issued by run, in the order in which runs
// began, and within a run by sequence number. What is ready early is held back;
// nothing else waits for it. A thread of the group's own issues them.
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

#include "rondo/kernels/exchange.h"
#include "rondo/kernels/kernel.h"

namespace rondo {

class ExchangeRun;

// Any thread. Always owned by a shared_ptr.
class RONDO_API ExchangeGroup
    : public std::enable_shared_from_this<ExchangeGroup> {
 public:
  using Work = std::function<Status(Exchange&)>;

  ExchangeGroup(std::string name, std::unique_ptr<Exchange> exchange);
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

  // Before a run starts: it will come to this exchange, once.
  void expect(ExchangeRun& run, int64_t sequence);
  // It will not come to it after all, nor do the other ranks.
  void leave_out(ExchangeRun& run, int64_t sequence);
  // Does `work` in its turn, without the caller's thread, then calls `done`
  // once.
  void submit(ExchangeRun& run, int64_t sequence, Cancellation& cancellation,
              Work work, AsyncKernel::Done done);
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
  void cancel(const std::shared_ptr<Call>& call);
  static void finish(Call& call, const Status& status);
  std::shared_ptr<Call> next();
  void serve();

  const std::string name_;
  const int rank_;
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::shared_ptr<Exchange> exchange_;  // nullptr: closed
  std::deque<ExchangeRun*> runs_;       // under way, in the order of beginning
  bool stopped_ = false;
  std::thread thread_;
};

// What one run has to do with one group: kept in the run's resources. All
// guarded by the group's mutex.
class ExchangeRun final : public Resource {
 private:
  friend class ExchangeGroup;
  std::set<int64_t> expected_;  // not yet issued
  std::map<int64_t, std::shared_ptr<ExchangeGroup::Call>> ready_;
  bool listed_ = false;
  bool issued_any_ = false;
};

}  // namespace rondo
