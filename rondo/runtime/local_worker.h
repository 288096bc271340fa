// LocalWorker: runs parts on the devices of this process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rondo/kernels/cancellation.h"
#include "rondo/runtime/compiled_part.h"
#include "rondo/runtime/containers.h"
#include "rondo/runtime/device.h"
#include "rondo/runtime/run_threads.h"
#include "rondo/runtime/worker.h"
#include "rondo/runtime/worker_pool.h"

namespace rondo {

// The parts of a step meet in its rendezvous, and run side by side on the
// worker's threads. Whichever part fails first ends the others, and its error,
// which names device and node, is the step's. Variables, queues and the like
// belong to the worker: all graphs that name them share them, and they outlive
// those.
class RONDO_API LocalWorker final : public Worker {
 public:
  struct Options {
    std::vector<std::string> devices;  // full names
    // Threads that one device may use for independent nodes, and those that
    // one node may use; 0: one, and this process's share of the host's cores,
    // divided by the devices of the step.
    int inter_op_threads = 0;
    int intra_op_threads = 0;
    // Where the parts of a step meet those of other workers. It is let go when
    // this worker's parts have ended, and has to keep what they sent until the
    // others have it, which may be before those begin. None: there are no
    // others.
    std::function<std::shared_ptr<Rendezvous>(int64_t step)> rendezvous;
  };
  explicit LocalWorker(Options options);
  // After all steps have ended.
  ~LocalWorker() override;

  std::vector<std::string> devices() const override;
  Result<int64_t> add(std::vector<Part> parts, Deadline deadline,
                      const Cancellation& run) override;
  void remove(int64_t graph) override;
  void run(StepCall call, Done done) override;
  Result<std::vector<Tensor>> run_here(StepCall call) override;
  void cancel(int64_t step, const Status& why) override;

  Containers& containers() { return containers_; }

 private:
  // A graph as add() got it.
  struct Registered;
  // Of its steps.
  struct StepRun;
  class Running;

  Result<Device*> find_device(const std::string& name);
  std::shared_ptr<Registered> find(int64_t graph);
  Result<std::vector<Tensor>> run_parts(Registered& graph, StepRun& run,
                                        StepCall& call);
  void work_on(Registered& graph, StepRun& run, Deadline deadline);

  const Options options_;
  const int inter_op_;
  Containers containers_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex mutex_;
  // Guarded by mutex_.
  int64_t next_graph_ = 1;
  std::map<int64_t, std::shared_ptr<Registered>> graphs_;
  std::map<int64_t, std::shared_ptr<Cancellation>> running_;  // by step
  std::deque<std::pair<int64_t, Status>> cancelled_;  // steps, latest last
  // Last, so that they end first.
  WorkerPool pool_;
  RunThreads run_threads_;
};

}  // namespace rondo
