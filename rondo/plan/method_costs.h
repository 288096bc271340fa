// What each method takes for `bytes` of each of several workers, in closed
// form. ExchangeCosts chooses among them, and gives them the network as the
// method's messages see it, and what of these its links carry.
#pragma once

#include <span>

#include "rondo/plan/link_loads.h"
#include "rondo/plan/method.h"
#include "rondo/plan/network.h"

namespace rondo {

struct ExchangeCost {
  double worker_bytes = 0;  // that a worker sends, on average
  double link_bytes = 0;    // through the busiest host's link, one way
  double seconds = 0;
  double startup = 0;  // of these: while the links could serve another one
};

ExchangeCost naive_cost(const Network& network, double bytes);
ExchangeCost star_cost(const Network& network, double bytes);
ExchangeCost tree_cost(const Network& network, const MessageLoad& each,
                       double bytes);
// In a step all messages begin at once, and the next waits for them.
ExchangeCost butterfly_cost(const Network& network,
                            std::span<const MessageLoad> steps, double bytes);
// Each worker passes on a chunk in each step, or one of each of several rings.
ExchangeCost ring_cost(const Network& network, double chunk, int steps,
                       int rings = 1);
ExchangeCost memory_cost(const Network& network, double bytes);
ExchangeCost hierarchical_cost(const Network& network, double bytes);

// Workers give `bytes` to servers, which wait for parts of so many bytes, and
// get `back`: on the workers' hosts,
ExchangeCost served_beside_cost(const Method& method, const Network& network,
                                const MessageLoad& each, double bytes,
                                double back, double part);
// or on spare machines, which may have a share of it; then the rest goes around
// the ring.
ExchangeCost served_apart_cost(const Method& method, const Network& network,
                               double bytes, double back, double part);

}  // namespace rondo
