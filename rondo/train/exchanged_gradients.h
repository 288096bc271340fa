// exchanged_gradients: the rewrite that makes training synchronous. Between
// gradients and updates it puts exchanges between the ranks of a group.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rondo/train/exchange_plan.h"

namespace rondo {

struct ExchangeTerms {
  // Of the first exchange; none: the next that is free.
  std::optional<int64_t> sequence = std::nullopt;
  // What a sum is multiplied by, an f32 scalar; empty: one by the number of
  // ranks.
  Value share = {};
  bool optional = false;  // whether a step may leave them out, on all ranks
};

// The mean of each gradient over all ranks. Dense ones travel in buckets,
// sparse ones as rows, products as their factors where the plan says so.
// Nothing but its own gradients holds a bucket up, and an update that takes
// these gradients waits for its bucket alone.
RONDO_API std::vector<GradientAndVariable> exchanged_gradients(
    std::vector<GradientAndVariable> gradients,
    const GradientExchange& exchange, const ExchangePlan& plan,
    const ExchangeTerms& terms = {});

// The first sequence number that no exchange of this group has in the graph.
RONDO_API int64_t next_sequence(const Graph& graph, const std::string& group);

}  // namespace rondo
