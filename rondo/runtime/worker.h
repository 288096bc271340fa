// Worker: runs the parts of graphs that are placed on the devices of one task.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/graph/subgraph.h"

namespace rondo {

// A master cuts a graph into parts, gives each worker its own once, and then
// asks each worker, with one call a step, to run it. Workers of this process
// are called directly; those of other processes through a stub of the same
// kind.
class Worker {
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
  };
  using Done = std::function<void(Result<std::vector<Tensor>>)>;

  virtual ~Worker() = default;
  // Compiles the parts; the number stands for them from then on.
  virtual Result<int64_t> add(std::vector<Part> parts) = 0;
  virtual void remove(int64_t graph) = 0;
  // Starts a step; `done` gets what the parts fetch, in order.
  virtual void run(StepCall call, Done done) = 0;
  // Ends the step with `why`; a later run() of it fails at once.
  virtual void cancel(int64_t step, const Status& why) = 0;
};

}  // namespace rondo
