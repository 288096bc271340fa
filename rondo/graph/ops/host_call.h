// A function of the program's own as an operation, and gradients of its own.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rondo/graph/host_function.h"

namespace rondo {

// Of one run: from the tensors of the inputs those of the outputs. From any
// thread, and from several runs at once.
using HostFn =
    std::function<Result<std::vector<Tensor>>(std::span<const Tensor> inputs)>;

// The outputs of `fn`, one of each type in `types`. The graph keeps the
// function; a graph that was saved and loaded does not have it.
RONDO_API std::vector<Value> host_call(Graph& graph, HostFn fn,
                                       const std::vector<Value>& inputs,
                                       const std::vector<DType>& types,
                                       std::string name = {});

// From one gradient per y (empty where nothing depends on it) one per x.
using CustomGradientFn =
    std::function<std::vector<Gradient>(std::span<const Value> grads)>;
// ys, whose gradients flow back to xs by what `fn` says and not through what ys
// were made of. `fn` is called while gradients() adds its nodes.
RONDO_API std::vector<Value> custom_gradient(const std::vector<Value>& ys,
                                             const std::vector<Value>& xs,
                                             CustomGradientFn fn);

// The same with functions of another kind, such as Python's.
RONDO_API Node& add_host_call(Graph& graph,
                              std::shared_ptr<const HostFunction> function,
                              const std::vector<Value>& inputs,
                              const std::vector<DType>& types,
                              std::string name = {}, std::string origin = {});
RONDO_API Node& add_custom_gradient(
    Graph& graph, std::shared_ptr<const HostFunction> function,
    const std::vector<Value>& ys, const std::vector<Value>& xs,
    std::string name = {}, std::string origin = {});

}  // namespace rondo
