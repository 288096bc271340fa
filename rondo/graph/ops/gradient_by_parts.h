// gradient_by_parts: the gradient of an operation from what it is made of.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "rondo/graph/op.h"

namespace rondo {

// For operations that do in one pass what `parts` does with plain operations:
// given the inputs, the outputs (empty where there is no gradient for one). The
// gradients are those of the plain operations, so they have gradients again.
// For second derivatives, which are rare; a first one deserves an operation of
// its own.
std::vector<Gradient> gradient_by_parts(
    Node& node, std::span<const Value> grads,
    const std::function<std::vector<Value>(const std::vector<Value>&)>& parts);

// The sum of two gradients of one value; either may be empty.
Gradient add_gradients(const Gradient& a, const Gradient& b);

}  // namespace rondo
