// The gradient of a while_loop: a second loop that runs as often as the first
// did, backwards.
//
// The forward loop gets a counter, and writes the values that the way back
// needs to stacks, under the number of the iteration. The backward loop counts
// down; its body is the gradient of the forward loop's body, reading those
// values from the stacks. What the forward loop only used from outside collects
// its gradient over all iterations.
//
// Loops nest: the gradient of an inner loop is a loop in the body of the outer
// loop's gradient. A stack has a number of its own each time that the loop
// begins, and what the inner loop's way back needs from the outer loop's body,
// this number and the count of its iterations too, comes from the stacks of
// the outer one.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// gradients() without its checks, within the body of a loop: the way back ends
// at the nodes of `border`, by node id.
using BodyGradients = std::function<std::vector<Gradient>(
    std::span<const Value> ys, std::span<const Value> xs,
    std::span<const Value> grad_ys, const std::vector<bool>& border)>;

struct LoopGradient {
  // A value from outside the loop, and what flows back to it.
  std::vector<std::pair<Value, Gradient>> parts;
  // By node id: what belongs to the loop and needs no further visit.
  std::vector<bool> nodes;
};

// Of the loop that `exit` leaves. grad_of gives the gradient of an Exit's
// output, empty where nothing depends on it.
LoopGradient loop_gradient(Node& exit,
                           const std::function<Value(Value)>& grad_of,
                           const BodyGradients& body_gradients);

}  // namespace rondo
