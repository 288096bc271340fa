// server_update: the rewrite that lets parameter servers make an optimizer's
// updates.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/ps/kv_optimizer.h"

namespace rondo {

// What servers do in place of an update of a variable (ApplyMomentum, ...);
// the learning rate is 0 where the graph computes it. Throws for an update
// that servers do not have, and lists those that they have.
RONDO_API KvOptimizer kv_optimizer_of(const Node& update);

// In place of `update`, which is not run: sends its gradient to the servers of
// `group`, and sets the variable to the value that they answer with. A dense
// f32 gradient travels as `wire`: f32, or bf16 in half the bytes.
RONDO_API Node& server_update(Node& update, const std::string& group,
                              DType wire = DType::kF32);

// The nodes of the graph that push to the servers of a group: one of each
// variable.
RONDO_API std::vector<const Node*> pushes_of(const Graph& graph,
                                             const std::string& group);

}  // namespace rondo
