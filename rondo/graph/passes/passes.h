// Passes: changes of a step's graph that leave its results as they are.
//
// A pass redirects inputs and fetches to other values; nodes that nothing needs
// any more are left where they are, and ordered_nodes() passes them over.
#pragma once

#include <functional>
#include <span>

#include "rondo/graph/subgraph.h"

namespace rondo {

// Computes a node from the values of its inputs; an error: leave it as it is.
using Evaluate = std::function<Result<std::vector<Tensor>>(
    const Node& node, std::span<const Tensor> inputs)>;

// Pure nodes of constants become constants, up to a size at which computing
// them anew is cheaper than keeping them.
RONDO_API void fold_constants(Subgraph& subgraph, const Evaluate& evaluate);
// Of nodes that compute the same from the same, one is left.
RONDO_API void share_common(Subgraph& subgraph);
// What changes nothing is left out: identities, casts and reshapes to what is
// there already, reshapes of reshapes, transposes that cancel, adding zero,
// multiplying by or dividing by one.
RONDO_API void simplify(Subgraph& subgraph);
// A sum of many products that have their inner axis in front becomes one.
RONDO_API void join_products(Subgraph& subgraph);
// The gradients of an activation and of a bias before a MaxPool are computed
// from what its windows gave.
RONDO_API void shrink_pool_gradients(Subgraph& subgraph);
// A bias behind a MatMul or Conv2D, and an activation behind the bias, become
// part of it (FusedMatMul, FusedConv2D) where nobody else needs what is between
// them.
RONDO_API void fuse_epilogues(Subgraph& subgraph);
// Element-wise nodes that only feed each other become one (FusedElementwise),
// whose program is a line for each of them.
RONDO_API void fuse_chains(Subgraph& subgraph);

}  // namespace rondo
