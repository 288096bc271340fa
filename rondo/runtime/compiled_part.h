// CompiledPart: a subgraph made ready to run, with the steps that are not
// running at the moment.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "rondo/graph/subgraph.h"
#include "rondo/runtime/containers.h"
#include "rondo/runtime/step.h"
#include "rondo/runtime/step_plan.h"

namespace rondo {

// Shared by all who run it. Any thread.
class CompiledPart {
 public:
  // Improves the subgraph, orders its changes and makes its kernels. Constants
  // are folded on the host, by this thread, with as many threads within a
  // kernel as it has.
  static Result<std::shared_ptr<CompiledPart>> make(Subgraph subgraph,
                                                    Device& device,
                                                    Containers& containers);
  std::unique_ptr<Step> take();
  void give_back(std::unique_ptr<Step> step);
  const StepPlan& plan() const { return *plan_; }

 private:
  CompiledPart(std::unique_ptr<StepPlan> plan, Device& device,
               Containers& containers)
      : plan_(std::move(plan)),
        device_(device),
        resources_(containers.find_or_make("")) {}

  const std::unique_ptr<const StepPlan> plan_;
  Device& device_;
  Resources& resources_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Step>> idle_;  // guarded by mutex_
};

}  // namespace rondo
