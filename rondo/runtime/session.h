// Session: runs parts of a graph.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/graph/graph.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/kernels/resources.h"
#include "rondo/runtime/placement_kind.h"
#include "rondo/runtime/run_options.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

struct SessionOptions {
  // Threads that one run may use for independent nodes, and those that one node
  // may use; 0: one for nodes, and within a node this process's share of the
  // host's cores (rondo/base/cores.h).
  int inter_op_threads = 0;
  int intra_op_threads = 0;
  // How many devices of each kind this process has: {{"cpu", 2}} are /cpu:0 and
  // /cpu:1, which share the cores. Empty: one CPU. inter_op_threads are then
  // those of each device, and without intra_op_threads the devices of a step
  // share the cores.
  std::map<std::string, int> devices = {};
  // How devices are chosen: docs/placement.md.
  PlacementKind placement = PlacementKind::kConstraints;
  // Whether a node that asks for a device that is not there runs elsewhere;
  // otherwise it is an error.
  bool allow_soft_placement = false;
  // Whether what goes where is written to standard error, once for each kind of
  // run.
  bool log_device_placement = false;
  // Whether f32 travels between devices as bf16, in half the bytes.
  bool bf16_transfers = false;
};

// Keeps the variables of the programs it runs. What a run needs is compiled the
// first time that it is asked for (the same feeds, fetches and targets) and
// kept. The graph may grow meanwhile, by one thread, and must outlive the
// session. Several threads may run at once.
class RONDO_API Session {
 public:
  class Impl;

  explicit Session(Graph& graph, const SessionOptions& options = {});
  // One that runs elsewhere: open_session() of rondo/cluster/server.h.
  explicit Session(std::unique_ptr<Impl> impl);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The fetched tensors, in order, as the caller's own; `targets` only run.
  Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                  const std::vector<Feed>& feeds,
                                  const std::vector<Node*>& targets = {},
                                  const RunOptions& options = {});
  Result<Tensor> run(Value fetch, const std::vector<Feed>& feeds = {});
  Status run(Node& target, const std::vector<Feed>& feeds = {});

  // Where the nodes of a run with these feeds go and why, as a table; nothing
  // runs.
  Result<std::string> explain_placement(const std::vector<Value>& fetches,
                                        const std::vector<Value>& feeds = {},
                                        const std::vector<Node*>& targets = {});

  // Ends the runs that go on, and every later one at once, with kCancelled.
  void close();

  Graph& graph() const;
  Resources& resources();
  // Full names, "/job:localhost/task:0/cpu:0".
  std::vector<std::string> devices() const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
