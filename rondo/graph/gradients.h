// gradients: the nodes that compute derivatives.
#pragma once

#include <span>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// For each of xs the gradient of the sum of all elements of ys, each weighted
// by the element of grad_ys where there is one. Adds nodes, in the name scope
// "gradients". Empty where ys do not depend on it.
//
// Walks back from ys: a node's gradient function is called once all that uses
// the node has said what flows back. Throws where something must flow back
// through an operation that has no gradient; the message names the way there.
RONDO_API std::vector<Gradient> gradients(std::span<const Value> ys,
                                          std::span<const Value> xs,
                                          std::span<const Value> grad_ys = {});
// The same, dense, and zeros where ys do not depend on it.
RONDO_API std::vector<Value> dense_gradients(std::span<const Value> ys,
                                             std::span<const Value> xs);
// A sparse gradient as a tensor of its own; a dense one as it is.
RONDO_API Value to_dense(const Gradient& gradient);

}  // namespace rondo
