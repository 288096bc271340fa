#include "rondo/runtime/worker.h"

#include <condition_variable>
#include <mutex>
#include <optional>

namespace rondo {

Result<std::vector<Tensor>> Worker::run_here(StepCall call) {
  struct Outcome {
    std::mutex mutex;
    std::condition_variable there;
    std::optional<Result<std::vector<Tensor>>> result;  // guarded by mutex
  };
  // Owned by both: run() may still be in notify_all() when this returns.
  const auto outcome = std::make_shared<Outcome>();
  run(std::move(call), [outcome](Result<std::vector<Tensor>> result) {
    {
      const std::lock_guard lock(outcome->mutex);
      outcome->result = std::move(result);
    }
    outcome->there.notify_all();
  });
  // The worker keeps the deadline.
  std::unique_lock lock(outcome->mutex);
  outcome->there.wait(lock, [&] { return outcome->result.has_value(); });
  return std::move(*outcome->result);
}

}  // namespace rondo
