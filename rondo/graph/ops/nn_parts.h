// The parts of the family of neural-network operations.
#pragma once

#include <span>
#include <string_view>

#include "rondo/graph/op.h"
#include "rondo/graph/op_registry.h"

namespace rondo {

void register_loss_ops(OpRegistry& ops);
void register_norm_ops(OpRegistry& ops);
void register_cell_ops(OpRegistry& ops);

// The axis of the channels; an error for another format than the two.
Result<int> channel_axis(std::string_view data_format, int rank);
// Throws when a gradient comes in for another output than the first `outputs`:
// the others are for the gradient's own use.
void want_no_gradients_behind(const Node& node, std::span<const Value> grads,
                              size_t outputs);

}  // namespace rondo
