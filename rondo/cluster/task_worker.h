// TaskWorker: a task's own worker, as the masters of its process and those of
// others see it.
#pragma once

#include "rondo/cluster/step_table.h"
#include "rondo/runtime/local_worker.h"

namespace rondo {

// Runs parts on the LocalWorker; a step that is cancelled also ends for tasks
// that wait for its tensors, whether it has begun here or not.
class TaskWorker final : public Worker {
 public:
  TaskWorker(LocalWorker& local, StepTable& steps)
      : local_(local), steps_(steps) {}

  std::vector<std::string> devices() const override { return local_.devices(); }
  Result<int64_t> add(std::vector<Part> parts, Deadline deadline,
                      const Cancellation& run) override {
    return local_.add(std::move(parts), deadline, run);
  }
  void remove(int64_t graph) override { local_.remove(graph); }
  void run(StepCall call, Done done) override {
    const int64_t step = call.step;
    local_.run(std::move(call),
               [this, step, done = std::move(done)](auto result) {
                 if (!result.ok()) steps_.abort(step, result.status());
                 done(std::move(result));
               });
  }
  Result<std::vector<Tensor>> run_here(StepCall call) override {
    const int64_t step = call.step;
    auto result = local_.run_here(std::move(call));
    if (!result.ok()) steps_.abort(step, result.status());
    return result;
  }
  void cancel(int64_t step, const Status& why) override {
    // Before what waits in the step is told: who cancelled says why better
    // than the node that happened to wait.
    local_.cancel(step, why);
    steps_.abort(step, why);
  }

 private:
  LocalWorker& local_;
  StepTable& steps_;
};

}  // namespace rondo
