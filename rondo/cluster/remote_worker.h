// RemoteWorker: the worker of another task, called over a link.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rondo/cluster/link.h"
#include "rondo/runtime/rendezvous.h"
#include "rondo/runtime/worker.h"

namespace rondo {

// Any thread. Failures name the task.
class RemoteWorker final : public Worker {
 public:
  RemoteWorker(std::string task, std::vector<std::string> devices,
               std::shared_ptr<PeerLink> link)
      : task_(std::move(task)),
        devices_(std::move(devices)),
        link_(std::move(link)) {}

  std::vector<std::string> devices() const override { return devices_; }
  Result<int64_t> add(std::vector<Part> parts, Deadline deadline,
                      const Cancellation& run) override;
  void remove(int64_t graph) override;
  void run(StepCall call, Done done) override;
  Result<std::vector<Tensor>> run_here(StepCall call) override;
  void cancel(int64_t step, const Status& why) override;

 private:
  const std::string task_;
  const std::vector<std::string> devices_;
  const std::shared_ptr<PeerLink> link_;
};

// Asks the task behind `link` for a tensor of a step.
void get_over(PeerLink& link, int64_t step, const std::string& key,
              Rendezvous::Done done);

}  // namespace rondo
