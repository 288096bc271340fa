// Worker: runs the parts of graphs that are placed on the devices of one task.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/graph/subgraph.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// A master cuts a graph into parts, gives each worker its own once, and then
// asks each worker, with one call a step, to run it. Workers of this process
// are called directly; those of other processes through a stub of the same
// kind. Any thread.
class RONDO_API Worker {
 public:
  // One device's share of a step.
  struct Part {
    std::string device;
    Subgraph subgraph;
  };
  struct StepCall {
    int64_t graph = 0;          // as add() numbered it
    int64_t step = 0;           // the same on every worker of a step
    std::vector<Tensor> feeds;  // of all parts, in order
    Deadline deadline = Deadline::never();
    // Where there is one, it has the times of the worker's nodes by the time
    // that `done` is called.
    Timeline* timeline = nullptr;
  };
  using Done = std::function<void(Result<std::vector<Tensor>>)>;
  // A worker ends a step at its deadline by itself. One that has not said so
  // this much later is not waited for: its process is stopped, say.
  static constexpr Duration kGrace = std::chrono::seconds(2);
  static Deadline last_word(const Deadline& deadline) {
    const Duration left = deadline.left();
    return left == Duration::max() ? Deadline::never()
                                   : Deadline(left + kGrace);
  }

  virtual ~Worker() = default;
  // Full names, "/job:worker/task:1/cpu:0".
  virtual std::vector<std::string> devices() const = 0;
  // Compiles the parts; the number stands for them from then on. Other tasks
  // are waited for until the deadline, or until `run` is cancelled.
  virtual Result<int64_t> add(std::vector<Part> parts, Deadline deadline,
                              const Cancellation& run) = 0;
  // Steps of it that run go on; none may begin any more.
  virtual void remove(int64_t graph) = 0;
  // Starts a step and returns; `done` gets what the parts fetch, in order, once
  // and from any thread, maybe before this returns where the step is known to
  // be short and to wait for nothing. Fetched tensors may be shared with
  // variables and feeds.
  virtual void run(StepCall call, Done done) = 0;
  // The same, and waits for it; a worker of this process uses the thread.
  virtual Result<std::vector<Tensor>> run_here(StepCall call);
  // Ends the step with `why`; a later run() of it fails at once.
  virtual void cancel(int64_t step, const Status& why) = 0;
};

}  // namespace rondo
