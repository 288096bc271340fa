// Master: runs parts of a graph on the devices of several workers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/partition/delay_recvs.h"
#include "rondo/graph/partition/partition.h"
#include "rondo/runtime/active_runs.h"
#include "rondo/runtime/plan_key.h"
#include "rondo/runtime/run_options.h"
#include "rondo/runtime/turns.h"
#include "rondo/runtime/worker.h"

namespace rondo {

struct MasterOptions {
  // All that may run something. Of those that take part in a step, the last
  // runs on the caller's thread, so one of this process belongs last.
  std::vector<std::shared_ptr<Worker>> workers;
  // Sets the device of every node of a step, a copy of part of `graph`, to the
  // full name of one of the workers' devices. Called by one thread at a time,
  // while the graph is still.
  std::function<Status(const Graph& graph, Subgraph& step)> place;
  // Where places depend on how long things take: which runs of a kind of step,
  // counted from 1, are timed; and what to make of a run's times. True when the
  // step, which is as place() got it, has been placed in another way, as it is
  // to run from then on. Called as place() is.
  std::function<bool(int64_t run)> wants_times = {};
  std::function<Result<bool>(const Graph& graph, const Timeline& times,
                             int64_t run, Subgraph& step)>
      place_again = {};
  // What goes where, for people. Called as place() is, and changes nothing.
  std::function<Result<std::string>(const Graph& graph, Subgraph& step)>
      explain = {};
  PartitionOptions partition;
  // How long nodes run and tensors travel, to have them received in time and
  // not before. Without a transfer_time nothing is held back.
  DelayOptions delay;
  bool log_placement = false;
};

// A session's master: places what a run needs, cuts it into one part for each
// device, gives the parts to their workers once, and then asks each of these,
// with one call a step, to run its own. The first worker that fails ends the
// step on all others. The graph may grow meanwhile, by one thread, and must
// outlive the master. Several threads may run at once.
class RONDO_API Master {
 public:
  Master(Graph& graph, MasterOptions options);
  ~Master();  // after all runs have ended

  // What is fetched, in order, as the caller's own. The arguments are of the
  // graph, and have been checked.
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Node*>& targets,
                                  const RunOptions& options = {});
  // Where the nodes of such a run go, and why.
  Result<std::string> explain(const std::vector<Value>& fetches,
                              const std::vector<Value>& feeds,
                              const std::vector<Node*>& targets);
  // Ends the runs that go on, and every later one at once, with kCancelled.
  void close() { runs_.close(); }
  // Of all workers, in their order.
  std::vector<std::string> devices() const;

 private:
  // A worker's share of a step, with the numbers of the caller's feeds that it
  // takes and of the fetches that it gives.
  struct Share {
    Worker* worker = nullptr;
    int64_t graph = 0;
    std::vector<int> feeds;
    std::vector<int> fetches;
  };
  struct Plan {
    ~Plan();
    std::vector<Share> shares;
    size_t fetches = 0;
    std::atomic<int64_t> runs = 0;  // of all plans for the same
  };
  class StepRun;
  // What ends a run before its time.
  struct Limits {
    Deadline deadline;
    Cancellation& cancellation;
  };

  // run() within its limits.
  Result<std::vector<Tensor>> run_within(const Limits& limits,
                                         const std::vector<Value>& fetches,
                                         const std::vector<Feed>& feeds,
                                         const std::vector<Node*>& targets,
                                         Timeline* timeline);
  Result<std::shared_ptr<Plan>> plan_for(const std::vector<Value>& fetches,
                                         const std::vector<Feed>& feeds,
                                         const std::vector<Node*>& targets,
                                         const Limits& limits);
  // nullptr: nobody has made it.
  std::shared_ptr<Plan> find_plan(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Node*>& targets);
  void keep(std::shared_ptr<Plan> plan, const std::vector<Value>& fetches,
            const std::vector<Feed>& feeds, const std::vector<Node*>& targets);
  // To place and compile.
  Result<Turns::Turn> take_turn(const Limits& limits);
  Result<std::shared_ptr<Plan>> make_plan(const std::vector<Value>& fetches,
                                          const std::vector<Feed>& feeds,
                                          const std::vector<Node*>& targets,
                                          const Limits& limits);
  // Of a step that has been placed.
  Result<std::shared_ptr<Plan>> compile(Subgraph step, const Limits& limits);
  // After a run of `plan` that was timed.
  void learn(const std::shared_ptr<Plan>& plan, const Timeline& times,
             int64_t run, const std::vector<Value>& fetches,
             const std::vector<Feed>& feeds, const std::vector<Node*>& targets,
             const Limits& limits);
  Result<std::shared_ptr<Plan>> hand_out(std::vector<GraphPart> parts,
                                         const Limits& limits);
  // Among the fetches of all; workers may be other processes, so what they give
  // is counted.
  static Status put(const Share& share, std::vector<Tensor>& fetched,
                    std::vector<Tensor>& all);
  Result<std::vector<Tensor>> run_step(const Plan& plan,
                                       const std::vector<Feed>& feeds,
                                       const Limits& limits,
                                       Timeline* timeline);

  Graph& graph_;
  const MasterOptions options_;
  ActiveRuns runs_;
  std::atomic<int64_t> next_step_;
  // Who places and compiles, which may take as long as other tasks do. Runs
  // whose plan is there do not wait for that.
  Turns turns_;
  std::mutex mutex_;
  // Guarded by mutex_. A plan goes when it is placed again and its last run has
  // ended.
  PlanMap<std::shared_ptr<Plan>> plans_;
  PlanKey key_;  // of the plan that is looked for; keeps its memory
};

}  // namespace rondo
