// Session: runs parts of a graph.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/graph/graph.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/kernels/resources.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

struct SessionOptions {
  // Threads that one run may use for independent nodes, and those that one node
  // may use; 0: one for nodes, and within a node this process's share of the
  // host's cores (rondo/base/cores.h).
  int inter_op_threads = 0;
  int intra_op_threads = 0;
};

struct RunOptions {
  Duration timeout = Duration::max();
  Timeline* timeline = nullptr;          // filled, where there is one
  Cancellation* cancellation = nullptr;  // ends the run from outside
};

struct Feed {
  Value value;
  Tensor tensor;
};

// Keeps the variables of the programs it runs. What a run needs is compiled the
// first time that it is asked for (the same feeds, fetches and targets) and
// kept. The graph may grow meanwhile, by one thread, and must outlive the
// session. Several threads may run at once.
class RONDO_API Session {
 public:
  explicit Session(Graph& graph, SessionOptions options = {});
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

  // Ends the runs that go on, and every later one at once, with kCancelled.
  void close();

  Graph& graph() const;
  Resources& resources();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
