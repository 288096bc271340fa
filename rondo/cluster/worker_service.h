// WorkerService: answers what masters and other tasks call of this task's
// worker over links.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "rondo/base/mutex.h"
#include "rondo/cluster/link.h"
#include "rondo/cluster/step_table.h"
#include "rondo/runtime/run_threads.h"
#include "rondo/runtime/worker.h"

namespace rondo {

// Graphs and steps belong to the link by which they came, and end with it: a
// master that is gone leaves nothing behind. Thread-safe.
class WorkerService {
 public:
  // Before a graph is compiled: reaches the tasks that its parts take tensors
  // from.
  using Prepare = std::function<Status(const std::vector<Worker::Part>& parts,
                                       Deadline deadline)>;
  WorkerService(Worker& worker, StepTable& steps, RunThreads& threads,
                Prepare prepare);

  // False: the method is not of a worker, and nothing was done.
  bool serve(uint64_t link, LinkCall& call, LinkServer::Answer& answer);
  void gone(uint64_t link);
  int64_t graphs() const;

 private:
  struct Owned {
    std::set<int64_t> graphs;
    std::set<int64_t> steps;  // that run
    // That are over, and have sent what nobody had taken by then.
    std::set<int64_t> sent;
  };
  void get(const LinkCall& call, LinkServer::Answer answer);
  Result<LinkAnswer> add(uint64_t link, const LinkCall& call);
  void remove(uint64_t link, const LinkCall& call, LinkServer::Answer& answer);
  void run(uint64_t link, LinkCall call, LinkServer::Answer answer);
  void cancel(const LinkCall& call, LinkServer::Answer& answer);
  void end_step(uint64_t link, int64_t step);

  Worker& worker_;
  StepTable& steps_;
  RunThreads& threads_;
  const Prepare prepare_;
  mutable Mutex mutex_;
  // By link, from its first call until it is gone.
  std::map<uint64_t, Owned> owned_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace rondo
