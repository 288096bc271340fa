// CommunicatorImpl: a group, the machinery that runs calls on it, and the queue
// of asynchronous calls.
//
// Calls run one at a time in the order in which they were issued. A blocking
// call runs on its caller's thread when nothing is under way, and is queued
// behind what is otherwise. The queue's thread starts with the first
// asynchronous call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>

#include "rondo/collectives/algorithms.h"
#include "rondo/collectives/call.h"
#include "rondo/collectives/communicator.h"
#include "rondo/collectives/executor.h"
#include "rondo/collectives/group.h"
#include "rondo/collectives/local_group.h"

namespace rondo {

// An operation that somebody may wait for.
struct OpState {
  Call call;
  std::shared_ptr<CommunicatorImpl> impl;  // until it runs
  std::weak_ptr<CommunicatorImpl> owner;
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;  // guarded by mutex
  Status status;      // guarded by mutex

  void finish(Status result);
  // Gives it up, and the communicator with it.
  void cancel();
};

class CommunicatorImpl : public std::enable_shared_from_this<CommunicatorImpl> {
 public:
  CommunicatorImpl(std::shared_ptr<Group> group, CommunicatorOptions options,
                   Costs costs);
  ~CommunicatorImpl();

  Group& group() { return *group_; }
  const Group& group() const { return *group_; }
  const CommunicatorOptions& options() const { return options_; }
  const Topology& topology() const { return topology_; }
  const Costs& costs() const { return costs_; }

  // Fills in the tag and the time-outs of a checked call, and runs it.
  Status run(Call& call, const CallOptions& options);
  Work start(Call call, const CallOptions& options);
  Result<Communicator> split(int color, int key);
  // What the whole job was told to use may not fit a part of it.
  void drop_impossible_algorithm() {
    if (!named_algorithm("").ok()) options_.algorithm = "auto";
  }
  // Keeps the store alive: rank 0 may be serving it.
  void hold(std::shared_ptr<Store> store) { store_ = std::move(store); }
  Traffic traffic() const;
  const AlgorithmEntry& algorithm_for(int64_t bytes) const;
  // The algorithm that the call or the communicator names; nullptr: none.
  Result<const AlgorithmEntry*> named_algorithm(std::string_view name) const;

 private:
  struct Queue;  // shared with its thread, which may outlive this object
  void stamp(Call& call, const CallOptions& options);
  Status execute(const Call& call);
  Status dispatch(const Call& call);
  Status alone(const Call& call);
  Status grouped(const Call& call);
  Status run_direct(const Call& call);
  Status run_messages(const Call& call);
  Status run_hierarchical(const Call& call);
  Status run_plan(const Plan& plan, const Call& call, Waiter& waiter);
  Plan direct_plan(const Call& call) const;
  Plan message_plan(const Call& call) const;
  AllreduceArgs allreduce_args(const Call& call) const;
  static void serve(std::shared_ptr<Queue> queue);

  std::shared_ptr<Store> store_;
  std::shared_ptr<Group> group_;
  CommunicatorOptions options_;
  Costs costs_;
  Topology topology_;
  LocalGroup local_;
  Executor executor_;

  // The plan of the last allreduce by messages: training repeats itself.
  struct PlanKey {
    uint8_t algorithm = 0;
    int64_t count = -1;
    bool in_place = false;
    bool operator==(const PlanKey&) const = default;
  };
  PlanKey cached_key_;
  Plan cached_plan_;

  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> splits_{0};
  std::atomic<int> pending_{0};  // queued or running asynchronous calls
  std::mutex run_mutex_;         // held while a call runs
  std::shared_ptr<Queue> queue_;
  std::once_flag thread_started_;
  std::thread thread_;
};

}  // namespace rondo
