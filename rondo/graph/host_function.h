// HostFunction: a function of the program's own that a node calls.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// Attached to the graph whose nodes call it, under a name that they carry.
class RONDO_API HostFunction : public Attachment {
 public:
  // The outputs of one run. From any thread, several runs at once. May throw
  // what kernels may.
  virtual Result<std::vector<Tensor>> call(
      std::span<const Tensor> inputs) const;
  // The gradients of the node's inputs, as an operation's gradient function
  // gives them. While the graph is built. Throws when it has none.
  virtual std::vector<Gradient> gradient(Node& node,
                                         std::span<const Value> grads) const;
};

// The function that a node names by its attribute "function"; nullptr when the
// graph has none of that name, as a graph that was loaded has not.
RONDO_API std::shared_ptr<const HostFunction> host_function_of(
    const Node& node);

}  // namespace rondo
