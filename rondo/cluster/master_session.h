// MasterSession: a session whose master is in this process and whose workers
// are the tasks of a cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rondo/base/cores.h"
#include "rondo/cluster/session_options.h"
#include "rondo/runtime/master_impl.h"
#include "rondo/runtime/session_placement.h"

namespace rondo {

class MasterSession final : public MasterImpl {
 public:
  // `workers`: that of this process last. `at_end` is called when the session
  // goes, and what it keeps is let go after the workers. Nodes that ask for
  // nothing go to this process's devices.
  MasterSession(Graph& of, std::vector<std::shared_ptr<Worker>> workers,
                std::function<void(MasterSession*)> at_end,
                const ClusterSessionOptions& options)
      : MasterImpl(of, devices_of(workers)),
        at_end_(std::move(at_end)),
        placement_({.kind = options.placement,
                    .devices = devices,
                    .intra_op_threads = share_of_cores(),
                    .soft = options.allow_soft_placement}),
        master_(of, master_options(std::move(workers), options)) {}

  ~MasterSession() override { at_end_(this); }

  Resources& resources() override {
    throw Error(Code::kInvalidArgument,
                "the variables of this session are on the tasks of its "
                "cluster");
  }

 private:
  Master& master() override { return master_; }
  // Those of the last worker first.
  static std::vector<std::string> devices_of(
      const std::vector<std::shared_ptr<Worker>>& workers) {
    std::vector<std::string> all = workers.back()->devices();
    for (size_t i = 0; i + 1 < workers.size(); ++i)
      for (std::string& name : workers[i]->devices())
        all.push_back(std::move(name));
    return all;
  }

  MasterOptions master_options(std::vector<std::shared_ptr<Worker>> workers,
                               const ClusterSessionOptions& options) {
    MasterOptions made{.workers = std::move(workers),
                       .partition = {.bf16 = options.bf16_transfers},
                       .log_placement = options.log_device_placement};
    placement_.serve(made);
    return made;
  }

  const std::function<void(MasterSession*)> at_end_;
  SessionPlacement placement_;
  Master master_;
};

}  // namespace rondo
