// Session::Impl: how a session runs what has been checked. Inside Rondo only.
#pragma once

#include "rondo/runtime/session.h"

namespace rondo {

class Session::Impl {
 public:
  Impl(Graph& g, std::vector<std::string> d)
      : graph(g), devices(std::move(d)) {}
  virtual ~Impl() = default;
  virtual Result<std::vector<Tensor>> run(const std::vector<Value>& fetches,
                                          const std::vector<Feed>& feeds,
                                          const std::vector<Node*>& targets,
                                          const RunOptions& options) = 0;
  virtual Result<std::string> explain_placement(
      const std::vector<Value>& fetches, const std::vector<Value>& feeds,
      const std::vector<Node*>& targets) = 0;
  virtual void close() = 0;
  virtual Resources& resources() = 0;

  Graph& graph;
  const std::vector<std::string> devices;
};

}  // namespace rondo
