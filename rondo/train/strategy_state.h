// Strategy::State: what the copies of a strategy share.
#pragma once

#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rondo/kernels/exchange_group.h"
#include "rondo/train/kv_parameters.h"
#include "rondo/train/strategy.h"

namespace rondo {

struct Strategy::State {
  State() = default;
  ~State();
  State(const State&) = delete;
  // Whether this process is a child, by fork, of the one that joined: it has
  // none of the threads, and must not say goodbye in its parent's name.
  bool forked() const { return ::getpid() != pid; }

  const pid_t pid = ::getpid();
  int rank = 0;
  int size = 1;
  HybridOptions options;
  GradientExchange exchange;
  std::shared_ptr<ExchangeGroup> group;
  std::mutex mutex;
  // Guarded by mutex.
  Communicator comm;  // empty once closed
  std::vector<Travel> travels;
  ParameterServerOptions served;
  std::shared_ptr<KvParameters> servers;  // nullptr: none
};

// Those of this job by the name of their group, so that a program may ask for
// its strategy wherever it needs it.
struct JobStrategies {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<void>> states;  // guarded by mutex
};

JobStrategies& job_strategies();

// Whether f32 gradients can travel so.
Status check_wire(DType wire);

}  // namespace rondo
